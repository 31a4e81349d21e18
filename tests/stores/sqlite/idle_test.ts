import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { ABANDONED, ask, claimOf, rows, testWithFixture } from "./fixture.ts";
import { grantAll, holderOf, pending, queueAll, sleepAll, sleeper } from "./waiting.ts";

testWithFixture(
  "attempt() that is not repeated leaves neither a place nor a timer",
  async (site) => {
    const [holder, waiter] = [claimOf(), claimOf()];
    await grantAll(site.a, [holder]);
    for (let round = 0; round < 2; round++) {
      await queueAll(site.b, [waiter]);
      assertEquals(rows(site.path), [holder.owner, waiter.owner]);
      await site.clock.advance(ABANDONED);
      assertEquals(rows(site.path), [holder.owner]);
      assertEquals(site.clock.pending, 0);
    }
    for (const claim of [holder, waiter]) await site.b.release(claim);
  },
);

testWithFixture("attempt() of one waiter keeps no idle one in the queue", async (site) => {
  const [holder, waiter, gone] = [await holderOf(site.b), claimOf({ owner: "waits" }), claimOf({ owner: "gone" })];
  for (const claim of [gone, waiter]) await ask(site.b, claim);
  for (let ms = 0; ms < ABANDONED; ms += 50) {
    await site.clock.advance(50);
    await ask(site.b, waiter);
  }
  assertEquals(await pending(site), ["waits"]);
  assertEquals(await ask(site.b, gone), false);
  assertEquals(await pending(site), ["gone", "waits"], "its place is kept for it");
  for (const claim of [holder, gone, waiter]) assert(await site.b.release(claim));
  assertEquals(site.clock.pending, 0);
});

testWithFixture("attempt() keeps the place of a waiter that found the file busy", async (site) => {
  const [holder, waiter] = [claimOf(), claimOf()];
  await grantAll(site.a, [holder]);
  await queueAll(site.b, [waiter]);
  await site.clock.advance(300);
  const writer = site.lock();
  await site.clock.advance(4_500);
  writer[Symbol.dispose]();
  await site.clock.advance(20);
  assertEquals(rows(site.path), [holder.owner, waiter.owner]);
  for (const claim of [holder, waiter]) assert(await site.b.release(claim));
});

testWithFixture("wakeup() keeps the place of a waiter that was about to lose it", async (site) => {
  const [holder, waiter] = [claimOf(), claimOf()];
  await grantAll(site.a, [holder]);
  await queueAll(site.b, [waiter]);
  await site.clock.advance(1_900);
  const writer = site.lock();
  await site.clock.advance(300);
  const woken = sleepAll(site.b, [waiter]);
  writer[Symbol.dispose]();
  await site.clock.advance(50);
  assertEquals(rows(site.path), [holder.owner, waiter.owner]);
  await site.a.release(holder);
  await site.clock.advance(20);
  assertEquals(woken, [waiter]);
  await site.b.release(waiter);
});

testWithFixture("release() that fails leaves no place in the queue of a live process", async (site) => {
  const holder = await holderOf(site.a);
  const [waiter, gone] = [claimOf({ owner: "waits" }), claimOf({ owner: "gone" })];
  for (const claim of [gone, waiter]) assertEquals(await ask(site.b, claim), false);
  const asleep = sleeper(site.b, waiter);
  const writer = site.lock();
  const release = assertRejects(() => site.b.release(gone), StoreError, "kept it to itself");
  await site.clock.advance(10_000);
  await release;
  writer[Symbol.dispose]();
  await site.clock.advance(5_000);
  assertEquals(await pending(site), ["waits"]);
  asleep.over.abort();
  for (const claim of [holder, waiter]) assert(await site.b.release(claim));
});
