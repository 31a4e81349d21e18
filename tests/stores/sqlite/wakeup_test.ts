import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, StoreError } from "@holdfast/lock";
import { sqlite } from "@holdfast/lock/sqlite";
import { settled } from "../../support/virtual_clock.ts";
import { ask, claimOf, handles, rows, testWithFixture } from "./fixture.ts";
import { grantAll, holderOf, queueAll, sleepAll, sleeper } from "./waiting.ts";

testWithFixture("wakeup() resolves soon after the lock was released by another process", async (site) => {
  for (const idle of [0, 10, 1_000, 30_000]) {
    const holder = await holderOf(site.a);
    const waiter = claimOf();
    assertEquals(await ask(site.b, waiter), false);
    const asleep = sleeper(site.b, waiter);
    await site.clock.advance(idle);
    assert(!asleep.woken);
    await site.a.release(holder);
    await site.clock.advance(Math.min(20, Math.max(2, idle / 8)));
    assert(asleep.woken, `after ${idle} ms`);
    assertEquals(await ask(site.b, waiter), true);
    await site.b.release(waiter);
  }
});

testWithFixture("wakeup() resolves at once when the same process has released the lock", async (site) => {
  const holder = await holderOf(site.a);
  const waiters = [claimOf(), claimOf()];
  for (const waiter of waiters) assertEquals(await ask(site.a, waiter), false);
  const sleepers = waiters.map((waiter) => sleeper(site.a, waiter));
  await site.clock.advance(1_000);
  await site.a.release(holder);
  await settled();
  assertEquals(sleepers.map(({ woken }) => woken), [true, false]);
  sleepers[1]!.over.abort();
  for (const waiter of waiters) await site.a.release(waiter);
});

testWithFixture("wakeup() resolves when the lease of a dead holder ends", async (site) => {
  await holderOf(site.a, { lease: 4_800 });
  const waiter = claimOf();
  assertEquals(await ask(site.b, waiter), false);
  const asleep = sleeper(site.b, waiter);
  await site.clock.advance(4_799);
  assert(!asleep.woken);
  await site.clock.advance(3);
  assert(asleep.woken);
  assertEquals(await ask(site.b, waiter), true);
  await site.b.release(waiter);
});

testWithFixture("wakeup() resolves when the first of several leases ends", async (site) => {
  const [first, second, waiter] = [4_800, 60_000, 60_000].map((lease) => claimOf({ permits: 2, lease }));
  await grantAll(site.a, [first!, second!]);
  await queueAll(site.b, [waiter!]);
  const woken = sleepAll(site.b, [waiter!]);
  await site.clock.advance(4_799);
  assertEquals(woken, []);
  await site.clock.advance(3);
  assertEquals(woken, [waiter]);
  await grantAll(site.b, [waiter!]);
  for (const claim of [second!, waiter!]) assert(await site.b.release(claim));
});

testWithFixture("wakeup() resolves soon when the turn came before the call", async (site) => {
  const holder = await holderOf(site.a);
  const waiter = claimOf();
  assertEquals(await ask(site.b, waiter), false);
  await site.a.release(holder);
  await site.clock.advance(50);
  const asleep = sleeper(site.b, waiter);
  await site.clock.advance(25);
  assert(asleep.woken);
  await site.b.release(waiter);
});

testWithFixture("wakeup() resolves for other handles of an owner that holds the lock", async (site) => {
  const holder = await holderOf(site.a);
  const [first, second] = handles("me", {}, {});
  const other = claimOf();
  for (const claim of [first!, other, second!]) assertEquals(await ask(site.b, claim), false);
  const [behind, again] = [sleeper(site.b, other), sleeper(site.b, second!)];
  await site.a.release(holder);
  assertEquals(await ask(site.b, first!), true);
  await settled();
  assertEquals([behind.woken, again.woken], [false, true]);
  assertEquals(await ask(site.b, second!), true);
  behind.over.abort();
  for (const claim of [first!, second!, other]) assert(await site.b.release(claim));
});

testWithFixture("wakeup() of a waiter far behind does not resolve before its turn", async (site) => {
  const holder = await holderOf(site.a);
  const waiters = Array.from({ length: 50 }, () => claimOf());
  for (const waiter of waiters) assertEquals(await ask(site.b, waiter), false);
  const sleepers = waiters.map((waiter) => sleeper(site.b, waiter));
  for (const [i, waiter] of waiters.entries()) {
    assertEquals(sleepers.findIndex(({ woken }) => woken), -1);
    await site.a.release(i === 0 ? holder : waiters[i - 1]!);
    await site.clock.advance(100);
    assertEquals(sleepers.map(({ woken }) => woken).lastIndexOf(true), i);
    for (const sleeper of sleepers.slice(0, i + 1)) sleeper.woken = false;
    assertEquals(await ask(site.b, waiter), true);
  }
  await site.b.release(waiters.at(-1)!);
});

testWithFixture("wakeup() resolves soon for all waiters that can share the lock", async (site) => {
  const holder = await holderOf(site.a);
  const waiters = Array.from({ length: 100 }, () => claimOf({ mode: "shared" }));
  for (const waiter of waiters) assertEquals(await ask(site.b, waiter), false);
  const sleepers = waiters.map((waiter) => sleeper(site.b, waiter));
  await site.clock.advance(100);
  await site.a.release(holder);
  await site.clock.advance(50);
  assertEquals(sleepers.filter(({ woken }) => !woken).length, 0);
  for (const waiter of waiters) await site.b.release(waiter);
});

testWithFixture("wakeup() that is called again outlives the call before", async (site) => {
  const [holder, waiter] = [claimOf(), claimOf()];
  await grantAll(site.a, [holder]);
  await queueAll(site.b, [waiter]);
  const over = new AbortController();
  const first = site.b.wakeup(waiter, over.signal);
  const woken = sleepAll(site.b, [waiter]);
  over.abort();
  await first;
  await site.a.release(holder);
  await site.clock.advance(20);
  assertEquals(woken, [waiter]);
  await grantAll(site.b, [waiter]);
  assert(await site.b.release(waiter));
});

testWithFixture("evict() and release() wake waiters of the same process at once, in order", async (site) => {
  const [first, second, third] = [claimOf(), claimOf(), claimOf()];
  const reader = claimOf({ mode: "shared" });
  await grantAll(site.a, [first]);
  await queueAll(site.a, [second, reader, third]);
  const woken = sleepAll(site.a, [second, reader, third]);
  await site.clock.advance(10_000);
  assertEquals(await site.a.evict("name"), 1);
  await settled();
  assertEquals(woken, [second]);
  await grantAll(site.a, [second]);
  assert(await site.a.release(second));
  await settled();
  assertEquals(woken, [second, reader]);
  await grantAll(site.a, [reader]);
  assert(await site.a.release(reader));
  await settled();
  assertEquals(woken, [second, reader, third]);
  assert(await site.a.release(third));
});

testWithFixture("close() makes waiting calls of acquire() reject, and leaves nothing", async (site) => {
  using other = sqlite(site.path);
  await using lock = await acquire(other, "name");
  const store = sqlite(site.path);
  const waiting = [1, 2, 3].map(() => acquire(store, "name"));
  while ((await other.query()).pending.length < 3) await settled();
  const rejections = waiting.map((lock) => assertRejects(() => lock, StoreError, "closed"));
  store.close();
  assertEquals(rows(site.path), [lock.owner]);
  await Promise.all(rejections);
});

testWithFixture("attempt() that waits for a busy file rejects when it is closed", async (site) => {
  const store = site.open();
  await store.query();
  using _writer = site.lock();
  const attempt = store.attempt(claimOf(), { enqueue: true });
  store.close();
  const error = await assertRejects(() => attempt, StoreError, "closed");
  assert(error.permanent);
});
