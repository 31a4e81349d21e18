import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, StoreError } from "@holdfast/lock";
import { sqlite } from "@holdfast/lock/sqlite";
import { settled } from "../../support/virtual_clock.ts";
import { ask, claimOf, handles, rows, testWithFixture } from "./fixture.ts";
import { grantAll, holderOf, queueAll, sleepAll, sleeper } from "./waiting.ts";

testWithFixture("wakeup() resolves soon after the lock was released by another process", async (fixture) => {
  for (const idle of [0, 10, 1_000, 30_000]) {
    const holder = await holderOf(fixture.a);
    const waiter = claimOf();
    assertEquals(await ask(fixture.b, waiter), false);
    const asleep = sleeper(fixture.b, waiter);
    await fixture.clock.advance(idle);
    assert(!asleep.woken);
    await fixture.a.release(holder);
    await fixture.clock.advance(Math.min(20, Math.max(2, idle / 8)));
    assert(asleep.woken, `after ${idle} ms`);
    assertEquals(await ask(fixture.b, waiter), true);
    await fixture.b.release(waiter);
  }
});

testWithFixture("wakeup() resolves at once when the same process has released the lock", async (fixture) => {
  const holder = await holderOf(fixture.a);
  const waiters = [claimOf(), claimOf()];
  for (const waiter of waiters) assertEquals(await ask(fixture.a, waiter), false);
  const sleepers = waiters.map((waiter) => sleeper(fixture.a, waiter));
  await fixture.clock.advance(1_000);
  await fixture.a.release(holder);
  await settled();
  assertEquals(sleepers.map(({ woken }) => woken), [true, false]);
  sleepers[1]!.over.abort();
  for (const waiter of waiters) await fixture.a.release(waiter);
});

testWithFixture("wakeup() resolves when the lease of a dead holder ends", async (fixture) => {
  await holderOf(fixture.a, { lease: 4_800 });
  const waiter = claimOf();
  assertEquals(await ask(fixture.b, waiter), false);
  const asleep = sleeper(fixture.b, waiter);
  await fixture.clock.advance(4_799);
  assert(!asleep.woken);
  await fixture.clock.advance(3);
  assert(asleep.woken);
  assertEquals(await ask(fixture.b, waiter), true);
  await fixture.b.release(waiter);
});

testWithFixture("wakeup() resolves when the first of several leases ends", async (fixture) => {
  const [first, second, waiter] = [4_800, 60_000, 60_000].map((lease) => claimOf({ permits: 2, lease }));
  await grantAll(fixture.a, [first!, second!]);
  await queueAll(fixture.b, [waiter!]);
  const woken = sleepAll(fixture.b, [waiter!]);
  await fixture.clock.advance(4_799);
  assertEquals(woken, []);
  await fixture.clock.advance(3);
  assertEquals(woken, [waiter]);
  await grantAll(fixture.b, [waiter!]);
  for (const claim of [second!, waiter!]) assert(await fixture.b.release(claim));
});

testWithFixture("wakeup() resolves soon when the turn came before the call", async (fixture) => {
  const holder = await holderOf(fixture.a);
  const waiter = claimOf();
  assertEquals(await ask(fixture.b, waiter), false);
  await fixture.a.release(holder);
  await fixture.clock.advance(50);
  const asleep = sleeper(fixture.b, waiter);
  await fixture.clock.advance(25);
  assert(asleep.woken);
  await fixture.b.release(waiter);
});

testWithFixture("wakeup() resolves for other handles of an owner that holds the lock", async (fixture) => {
  const holder = await holderOf(fixture.a);
  const [first, second] = handles("me", {}, {});
  const other = claimOf();
  for (const claim of [first!, other, second!]) assertEquals(await ask(fixture.b, claim), false);
  const [behind, again] = [sleeper(fixture.b, other), sleeper(fixture.b, second!)];
  await fixture.a.release(holder);
  assertEquals(await ask(fixture.b, first!), true);
  await settled();
  assertEquals([behind.woken, again.woken], [false, true]);
  assertEquals(await ask(fixture.b, second!), true);
  behind.over.abort();
  for (const claim of [first!, second!, other]) assert(await fixture.b.release(claim));
});

testWithFixture("wakeup() of a waiter far behind does not resolve before its turn", async (fixture) => {
  const holder = await holderOf(fixture.a);
  const waiters = Array.from({ length: 50 }, () => claimOf());
  for (const waiter of waiters) assertEquals(await ask(fixture.b, waiter), false);
  const sleepers = waiters.map((waiter) => sleeper(fixture.b, waiter));
  for (const [i, waiter] of waiters.entries()) {
    assertEquals(sleepers.findIndex(({ woken }) => woken), -1);
    await fixture.a.release(i === 0 ? holder : waiters[i - 1]!);
    await fixture.clock.advance(100);
    assertEquals(sleepers.map(({ woken }) => woken).lastIndexOf(true), i);
    for (const sleeper of sleepers.slice(0, i + 1)) sleeper.woken = false;
    assertEquals(await ask(fixture.b, waiter), true);
  }
  await fixture.b.release(waiters.at(-1)!);
});

testWithFixture("wakeup() resolves soon for all waiters that can share the lock", async (fixture) => {
  const holder = await holderOf(fixture.a);
  const waiters = Array.from({ length: 100 }, () => claimOf({ mode: "shared" }));
  for (const waiter of waiters) assertEquals(await ask(fixture.b, waiter), false);
  const sleepers = waiters.map((waiter) => sleeper(fixture.b, waiter));
  await fixture.clock.advance(100);
  await fixture.a.release(holder);
  await fixture.clock.advance(50);
  assertEquals(sleepers.filter(({ woken }) => !woken).length, 0);
  for (const waiter of waiters) await fixture.b.release(waiter);
});

testWithFixture("wakeup() that is called again outlives the call before", async (fixture) => {
  const [holder, waiter] = [claimOf(), claimOf()];
  await grantAll(fixture.a, [holder]);
  await queueAll(fixture.b, [waiter]);
  const over = new AbortController();
  const first = fixture.b.wakeup(waiter, over.signal);
  const woken = sleepAll(fixture.b, [waiter]);
  over.abort();
  await first;
  await fixture.a.release(holder);
  await fixture.clock.advance(20);
  assertEquals(woken, [waiter]);
  await grantAll(fixture.b, [waiter]);
  assert(await fixture.b.release(waiter));
});

testWithFixture("evict() and release() wake waiters of the same process at once, in order", async (fixture) => {
  const [first, second, third] = [claimOf(), claimOf(), claimOf()];
  const reader = claimOf({ mode: "shared" });
  await grantAll(fixture.a, [first]);
  await queueAll(fixture.a, [second, reader, third]);
  const woken = sleepAll(fixture.a, [second, reader, third]);
  await fixture.clock.advance(10_000);
  assertEquals(await fixture.a.evict("name"), 1);
  await settled();
  assertEquals(woken, [second]);
  await grantAll(fixture.a, [second]);
  assert(await fixture.a.release(second));
  await settled();
  assertEquals(woken, [second, reader]);
  await grantAll(fixture.a, [reader]);
  assert(await fixture.a.release(reader));
  await settled();
  assertEquals(woken, [second, reader, third]);
  assert(await fixture.a.release(third));
});

testWithFixture("close() makes waiting calls of acquire() reject, and leaves nothing", async (fixture) => {
  using other = sqlite(fixture.path);
  await using lock = await acquire(other, "name");
  const store = sqlite(fixture.path);
  const waiting = [1, 2, 3].map(() => acquire(store, "name"));
  while ((await other.query()).pending.length < 3) await settled();
  const rejections = waiting.map((lock) => assertRejects(() => lock, StoreError, "closed"));
  store.close();
  assertEquals(rows(fixture.path), [lock.owner]);
  await Promise.all(rejections);
});

testWithFixture("attempt() that waits for a busy file rejects when it is closed", async (fixture) => {
  const store = fixture.open();
  await store.query();
  using _writer = fixture.lock();
  const attempt = store.attempt(claimOf(), { enqueue: true });
  store.close();
  const error = await assertRejects(() => attempt, StoreError, "closed");
  assert(error.permanent);
});
