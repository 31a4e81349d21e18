import { assert, assertEquals } from "@std/assert";
import { ask, claimOf, fenceOf, handles, testWithFixture } from "./fixture.ts";

testWithFixture("attempt() that steals takes the lock from all holders, ahead of the queue", async (fixture) => {
  for (const mode of ["exclusive", "shared"] as const) {
    const losers = handles("loser", { mode }, { mode });
    const waiter = claimOf();
    const thief = claimOf();
    const fence = await fenceOf(fixture.a.attempt(losers[0]!, { enqueue: false }));
    assertEquals(await ask(fixture.a, losers[1]!), true);
    assertEquals(await ask(fixture.a, waiter), false);
    const stolen = await fenceOf(fixture.b.attempt(thief, { enqueue: true, steal: true }));
    assert(stolen > fence);
    assertEquals(await fenceOf(fixture.b.attempt(thief, { enqueue: true, steal: true })), stolen, "a repeated request");
    for (const loser of losers) {
      assertEquals(await fixture.a.renew(loser), "lost");
      assertEquals(await fixture.a.release(loser), false);
    }
    assertEquals(await ask(fixture.a, waiter), false);
    assert(await fixture.b.release(thief));
    assertEquals(await ask(fixture.a, waiter), true);
    await fixture.a.release(waiter);
  }
});

testWithFixture("attempt() that steals from a semaphore makes it an exclusive lock", async (fixture) => {
  const [one, two] = [claimOf({ permits: 2 }), claimOf({ permits: 2 })];
  const thief = claimOf();
  assertEquals(await ask(fixture.a, one), true);
  await fixture.b.attempt(thief, { enqueue: true, steal: true });
  assertEquals(await ask(fixture.a, two), { present: "exclusive", own: false });
  await fixture.b.release(thief);
});

testWithFixture("attempt() that steals works for a handle that waits already", async (fixture) => {
  const [holder, waiter] = [claimOf(), claimOf()];
  for (const claim of [holder, waiter]) await ask(fixture.a, claim);
  await fenceOf(fixture.a.attempt(waiter, { enqueue: true, steal: true }));
  assertEquals(await fixture.a.renew(holder), "lost");
  assert(await fixture.a.release(waiter));
});

testWithFixture("attempt() that steals from its own owner takes nothing", async (fixture) => {
  const [first, second] = handles("me", {}, {});
  assertEquals(await ask(fixture.a, first!), true);
  await fixture.b.attempt(second!, { enqueue: true, steal: true });
  for (const claim of [first!, second!]) assert(await fixture.a.release(claim));
});

testWithFixture("evict() takes the lock from all holders, and leaves the queue", async (fixture) => {
  assertEquals(await fixture.a.evict("name"), 0);
  const readers = [claimOf({ mode: "shared" }), claimOf({ mode: "shared" })];
  const [brief, other] = [claimOf({ mode: "shared", lease: 100 }), claimOf({ name: "other" })];
  const writer = claimOf();
  for (const claim of [...readers, brief, other]) assertEquals(await ask(fixture.a, claim), true);
  await fixture.clock.advance(200);
  assertEquals(await ask(fixture.a, writer), false);
  assertEquals(await fixture.b.evict("name"), 2);
  for (const reader of readers) assertEquals(await fixture.a.renew(reader), "lost");
  assertEquals(await fixture.a.renew(other), "renewed");
  assertEquals(await ask(fixture.a, writer), true);
  for (const claim of [writer, other]) assert(await fixture.a.release(claim));
});
