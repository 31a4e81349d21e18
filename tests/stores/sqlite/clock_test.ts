import { assert, assertEquals } from "@std/assert";
import type { Claim } from "../../../src/store.ts";
import { ask, claimOf, LEASE, testWithFixture } from "./fixture.ts";

testWithFixture("attempt() restarts a lease when it finds that the clock was set back", async (site) => {
  const [holder, waiter] = [claimOf(), claimOf()];
  assertEquals(await ask(site.a, holder), true);
  site.clock.setWall(-24 * 3_600_000);
  assertEquals(await ask(site.b, waiter), false);
  await site.clock.advance(LEASE - 10);
  assertEquals(await ask(site.b, waiter), false);
  await site.clock.advance(20);
  assertEquals(await ask(site.b, waiter), true);
  await site.b.release(waiter);
});

testWithFixture("attempt() that only reads finds that the clock was set back, too", async (site) => {
  const names = ["one", "two"];
  for (const name of names) assertEquals(await ask(site.a, claimOf({ name })), true);
  const waiters = names.map((name) => claimOf({ name }));
  for (const waiter of waiters) assertEquals(await ask(site.b, waiter), false);
  site.clock.setWall(-24 * 3_600_000);
  // The first of them writes that both are alive.
  for (const waiter of waiters) assertEquals(await ask(site.b, waiter), false);
  await site.clock.advance(LEASE + 10);
  for (const waiter of waiters) {
    assertEquals(await ask(site.b, waiter), true);
    await site.b.release(waiter);
  }
});

testWithFixture("wakeup() resolves when the clock was set back, so that the lease is cut", async (site) => {
  const [holder, waiter] = [claimOf(), claimOf()];
  assertEquals(await ask(site.a, holder), true);
  assertEquals(await ask(site.b, waiter), false);
  const over = new AbortController();
  let woken = false;
  const sleeping = site.b.wakeup(waiter, over.signal).then(() => woken = true);
  await site.clock.advance(1_000);
  assert(!woken, "it is not its turn");
  site.clock.setWall(-24 * 3_600_000);
  await site.clock.advance(1_000);
  assert(woken, "it has something to write");
  over.abort();
  await sleeping;
  assertEquals(await ask(site.b, waiter), false);
  await site.clock.advance(LEASE + 10);
  assertEquals(await ask(site.b, waiter), true);
  await site.b.release(waiter);
});

testWithFixture(
  "attempt() cuts overlong leases also when it is a conflict or granted",
  async (site) => {
    const present: [Claim, Partial<Claim>, Partial<Claim>][] = [
      [claimOf({ name: "permits", permits: 2 }), {}, {}],
      [claimOf({ name: "another number", permits: 2 }), { permits: 3 }, { permits: 3 }],
      [claimOf({ name: "own", owner: "me", handle: "me/1", mode: "shared" }), { owner: "me", handle: "me/2" }, {}],
      [claimOf({ name: "beside", mode: "shared" }), { mode: "shared", lease: LEASE / 2 }, {}],
    ];
    for (const [dead] of present) assertEquals(await ask(site.a, dead), true);
    site.clock.setWall(-24 * 3_600_000);
    for (const [{ name }, claim] of present) await site.b.attempt(claimOf({ name, ...claim }), { enqueue: false });
    await site.clock.advance(LEASE + 10);
    for (const [{ name }, , claim] of present) {
      const next = claimOf({ name, ...claim });
      assertEquals((await site.b.attempt(next, { enqueue: false })).granted, true, name);
      assert(await site.b.release(next));
    }
  },
);

testWithFixture("attempt() keeps waiters in order after a clock step or a suspended machine", async (site) => {
  for (const step of [-3_600_000, -700_000, 601_000]) {
    const holder = claimOf({ lease: 2_000_000 });
    assertEquals(await ask(site.a, holder), true);
    const waiters = [0, 1, 2, 3].map((i) => claimOf({ owner: `${i}` }));
    const storeOf = (i: number) => i % 2 === 0 ? site.a : site.b;
    for (const [i, waiter] of waiters.entries()) await ask(storeOf(i), waiter);
    site.clock.setWall(step);
    for (const [i, waiter] of [...waiters.entries()].toReversed()) {
      assertEquals(await ask(storeOf(i), waiter), false);
    }
    assertEquals((await site.a.query()).pending.map(({ owner }) => owner), ["0", "1", "2", "3"], `${step}`);
    assert(await site.a.release(holder));
    for (const [i, waiter] of waiters.entries()) assert(await storeOf(i).release(waiter));
  }
});
