import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { ABANDONED, ask, claimOf, rows, testWithFixture } from "./fixture.ts";
import { grantAll, holderOf, pending, queueAll, sleepAll, sleeper } from "./waiting.ts";

testWithFixture(
  "attempt() that is not repeated leaves neither a place nor a timer",
  async (fixture) => {
    const [holder, waiter] = [claimOf(), claimOf()];
    await grantAll(fixture.a, [holder]);
    for (let round = 0; round < 2; round++) {
      await queueAll(fixture.b, [waiter]);
      assertEquals(rows(fixture.path), [holder.owner, waiter.owner]);
      await fixture.clock.advance(ABANDONED);
      assertEquals(rows(fixture.path), [holder.owner]);
      assertEquals(fixture.clock.pending, 0);
    }
    for (const claim of [holder, waiter]) await fixture.b.release(claim);
  },
);

testWithFixture("attempt() of one waiter keeps no idle one in the queue", async (fixture) => {
  const [holder, waiter, gone] = [await holderOf(fixture.b), claimOf({ owner: "waits" }), claimOf({ owner: "gone" })];
  for (const claim of [gone, waiter]) await ask(fixture.b, claim);
  for (let ms = 0; ms < ABANDONED; ms += 50) {
    await fixture.clock.advance(50);
    await ask(fixture.b, waiter);
  }
  assertEquals(await pending(fixture), ["waits"]);
  assertEquals(await ask(fixture.b, gone), false);
  assertEquals(await pending(fixture), ["gone", "waits"], "its place is kept for it");
  for (const claim of [holder, gone, waiter]) assert(await fixture.b.release(claim));
  assertEquals(fixture.clock.pending, 0);
});

testWithFixture("attempt() keeps the place of a waiter that found the file busy", async (fixture) => {
  const [holder, waiter] = [claimOf(), claimOf()];
  await grantAll(fixture.a, [holder]);
  await queueAll(fixture.b, [waiter]);
  await fixture.clock.advance(300);
  const writer = fixture.lock();
  await fixture.clock.advance(4_500);
  writer[Symbol.dispose]();
  await fixture.clock.advance(20);
  assertEquals(rows(fixture.path), [holder.owner, waiter.owner]);
  for (const claim of [holder, waiter]) assert(await fixture.b.release(claim));
});

testWithFixture("attempt() keeps the place of a waiter that was about to lose it", async (fixture) => {
  const [holder, waiter] = [claimOf(), claimOf()];
  await grantAll(fixture.a, [holder]);
  await queueAll(fixture.b, [waiter]);
  await fixture.clock.advance(1_900);
  const writer = fixture.lock();
  await fixture.clock.advance(300);
  assertEquals(await ask(fixture.b, waiter), false);
  writer[Symbol.dispose]();
  await fixture.clock.advance(50);
  assertEquals(rows(fixture.path), [holder.owner, waiter.owner]);
  for (const claim of [holder, waiter]) assert(await fixture.b.release(claim));
});

testWithFixture("wakeup() keeps the place of a waiter that was about to lose it", async (fixture) => {
  const [holder, waiter] = [claimOf(), claimOf()];
  await grantAll(fixture.a, [holder]);
  await queueAll(fixture.b, [waiter]);
  await fixture.clock.advance(1_900);
  const writer = fixture.lock();
  await fixture.clock.advance(300);
  const woken = sleepAll(fixture.b, [waiter]);
  writer[Symbol.dispose]();
  await fixture.clock.advance(50);
  assertEquals(rows(fixture.path), [holder.owner, waiter.owner]);
  await fixture.a.release(holder);
  await fixture.clock.advance(20);
  assertEquals(woken, [waiter]);
  await fixture.b.release(waiter);
});

testWithFixture("release() that fails leaves no place in the queue of a live process", async (fixture) => {
  const holder = await holderOf(fixture.a);
  const [waiter, gone] = [claimOf({ owner: "waits" }), claimOf({ owner: "gone" })];
  for (const claim of [gone, waiter]) assertEquals(await ask(fixture.b, claim), false);
  const asleep = sleeper(fixture.b, waiter);
  const writer = fixture.lock();
  const release = assertRejects(() => fixture.b.release(gone), StoreError, "kept it to itself");
  await fixture.clock.advance(10_000);
  await release;
  writer[Symbol.dispose]();
  await fixture.clock.advance(5_000);
  assertEquals(await pending(fixture), ["waits"]);
  asleep.over.abort();
  for (const claim of [holder, waiter]) assert(await fixture.b.release(claim));
});
