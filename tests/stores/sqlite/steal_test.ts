import { assert, assertEquals } from "@std/assert";
import { ask, claimOf, fenceOf, handles, testWithFixture } from "./fixture.ts";

testWithFixture("attempt() that steals takes the lock from all holders, ahead of the queue", async (site) => {
  for (const mode of ["exclusive", "shared"] as const) {
    const losers = handles("loser", { mode }, { mode });
    const waiter = claimOf();
    const thief = claimOf();
    const fence = await fenceOf(site.a.attempt(losers[0]!, { enqueue: false }));
    assertEquals(await ask(site.a, losers[1]!), true);
    assertEquals(await ask(site.a, waiter), false);
    const stolen = await fenceOf(site.b.attempt(thief, { enqueue: true, steal: true }));
    assert(stolen > fence);
    assertEquals(await fenceOf(site.b.attempt(thief, { enqueue: true, steal: true })), stolen, "a repeated request");
    for (const loser of losers) {
      assertEquals(await site.a.renew(loser), "lost");
      assertEquals(await site.a.release(loser), false);
    }
    assertEquals(await ask(site.a, waiter), false);
    assert(await site.b.release(thief));
    assertEquals(await ask(site.a, waiter), true);
    await site.a.release(waiter);
  }
});

testWithFixture("attempt() that steals from a semaphore makes it an exclusive lock", async (site) => {
  const [one, two] = [claimOf({ permits: 2 }), claimOf({ permits: 2 })];
  const thief = claimOf();
  assertEquals(await ask(site.a, one), true);
  await site.b.attempt(thief, { enqueue: true, steal: true });
  assertEquals(await ask(site.a, two), { present: "exclusive", own: false });
  await site.b.release(thief);
});

testWithFixture("attempt() that steals works for a handle that waits already", async (site) => {
  const [holder, waiter] = [claimOf(), claimOf()];
  for (const claim of [holder, waiter]) await ask(site.a, claim);
  await fenceOf(site.a.attempt(waiter, { enqueue: true, steal: true }));
  assertEquals(await site.a.renew(holder), "lost");
  assert(await site.a.release(waiter));
});

testWithFixture("attempt() that steals from its own owner takes nothing", async (site) => {
  const [first, second] = handles("me", {}, {});
  assertEquals(await ask(site.a, first!), true);
  await site.b.attempt(second!, { enqueue: true, steal: true });
  for (const claim of [first!, second!]) assert(await site.a.release(claim));
});

testWithFixture("evict() takes the lock from all holders, and leaves the queue", async (site) => {
  assertEquals(await site.a.evict("name"), 0);
  const readers = [claimOf({ mode: "shared" }), claimOf({ mode: "shared" })];
  const [brief, other] = [claimOf({ mode: "shared", lease: 100 }), claimOf({ name: "other" })];
  const writer = claimOf();
  for (const claim of [...readers, brief, other]) assertEquals(await ask(site.a, claim), true);
  await site.clock.advance(200);
  assertEquals(await ask(site.a, writer), false);
  assertEquals(await site.b.evict("name"), 2);
  for (const reader of readers) assertEquals(await site.a.renew(reader), "lost");
  assertEquals(await site.a.renew(other), "renewed");
  assertEquals(await ask(site.a, writer), true);
  for (const claim of [writer, other]) assert(await site.a.release(claim));
});
