import { assert, assertEquals } from "@std/assert";
import type { Claim } from "../../../src/contract/store.ts";
import { elapsed } from "../../../src/time/clock.ts";
import { ask, claimOf, LEASE, testWithFixture } from "./fixture.ts";

testWithFixture("attempt() restarts a lease when it finds that the clock was set back", async (fixture) => {
  const [holder, waiter] = [claimOf(), claimOf()];
  assertEquals(await ask(fixture.a, holder), true);
  fixture.clock.setWall(-24 * 3_600_000);
  assertEquals(await ask(fixture.b, waiter), false);
  await fixture.clock.advance(LEASE - 10);
  assertEquals(await ask(fixture.b, waiter), false);
  await fixture.clock.advance(20);
  assertEquals(await ask(fixture.b, waiter), true);
  await fixture.b.release(waiter);
});

testWithFixture("attempt() that only reads finds that the clock was set back, too", async (fixture) => {
  const names = ["one", "two"];
  for (const name of names) assertEquals(await ask(fixture.a, claimOf({ name })), true);
  const waiters = names.map((name) => claimOf({ name }));
  for (const waiter of waiters) assertEquals(await ask(fixture.b, waiter), false);
  fixture.clock.setWall(-24 * 3_600_000);
  // The first of them writes that both are alive.
  for (const waiter of waiters) assertEquals(await ask(fixture.b, waiter), false);
  await fixture.clock.advance(LEASE + 10);
  for (const waiter of waiters) {
    assertEquals(await ask(fixture.b, waiter), true);
    await fixture.b.release(waiter);
  }
});

testWithFixture("wakeup() resolves when the clock was set back, so that the lease is cut", async (fixture) => {
  const [holder, waiter] = [claimOf(), claimOf()];
  assertEquals(await ask(fixture.a, holder), true);
  assertEquals(await ask(fixture.b, waiter), false);
  const over = new AbortController();
  let woken = false;
  const sleeping = fixture.b.wakeup(waiter, over.signal).then(() => woken = true);
  await fixture.clock.advance(1_000);
  assert(!woken, "it is not its turn");
  fixture.clock.setWall(-24 * 3_600_000);
  await fixture.clock.advance(1_000);
  assert(woken, "it has something to write");
  over.abort();
  await sleeping;
  assertEquals(await ask(fixture.b, waiter), false);
  await fixture.clock.advance(LEASE + 10);
  assertEquals(await ask(fixture.b, waiter), true);
  await fixture.b.release(waiter);
});

testWithFixture(
  "attempt() cuts overlong leases also when it is a conflict or granted",
  async (fixture) => {
    const present: [Claim, Partial<Claim>, Partial<Claim>][] = [
      [claimOf({ name: "permits", permits: 2 }), {}, {}],
      [claimOf({ name: "another number", permits: 2 }), { permits: 3 }, { permits: 3 }],
      [claimOf({ name: "own", owner: "me", handle: "me/1", mode: "shared" }), { owner: "me", handle: "me/2" }, {}],
      [claimOf({ name: "beside", mode: "shared" }), { mode: "shared", lease: LEASE / 2 }, {}],
    ];
    for (const [dead] of present) assertEquals(await ask(fixture.a, dead), true);
    fixture.clock.setWall(-24 * 3_600_000);
    for (const [{ name }, claim] of present) await fixture.b.attempt(claimOf({ name, ...claim }), { enqueue: false });
    await fixture.clock.advance(LEASE + 10);
    for (const [{ name }, , claim] of present) {
      const next = claimOf({ name, ...claim });
      assertEquals((await fixture.b.attempt(next, { enqueue: false })).granted, true, name);
      assert(await fixture.b.release(next));
    }
  },
);

testWithFixture("attempt() keeps waiters in order after a clock step or a suspended machine", async (fixture) => {
  for (const step of [-3_600_000, -700_000, 601_000]) {
    const holder = claimOf({ lease: 2_000_000 });
    assertEquals(await ask(fixture.a, holder), true);
    const waiters = [0, 1, 2, 3].map((i) => claimOf({ owner: `${i}` }));
    const storeOf = (i: number) => i % 2 === 0 ? fixture.a : fixture.b;
    for (const [i, waiter] of waiters.entries()) await ask(storeOf(i), waiter);
    fixture.clock.setWall(step);
    for (const [i, waiter] of [...waiters.entries()].toReversed()) {
      assertEquals(await ask(storeOf(i), waiter), false);
    }
    assertEquals((await fixture.a.query()).pending.map(({ owner }) => owner), ["0", "1", "2", "3"], `${step}`);
    assert(await fixture.a.release(holder));
    for (const [i, waiter] of waiters.entries()) assert(await storeOf(i).release(waiter));
  }
});

testWithFixture(
  "attempt() ends a live lease while the clock is wrong, unseen by its holder",
  async (fixture) => {
    const [holder, next] = [claimOf(), claimOf()];
    const granted = await fixture.a.attempt(holder, { enqueue: false });
    const grantedAt = fixture.clock.now();
    fixture.clock.setWall(LEASE + 1);
    const later = await fixture.b.attempt(next, { enqueue: false });
    fixture.clock.setWall(-LEASE - 1);
    assertEquals(elapsed(grantedAt, fixture.clock.now()), 0);
    assert(granted.granted && later.granted && later.fence > granted.fence, "the fence orders them");
    assertEquals(await fixture.a.renew(holder), "lost");
    await fixture.b.release(next);
  },
);
