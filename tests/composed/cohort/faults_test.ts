import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { settled } from "../../support/virtual_clock.ts";
import { claimOf } from "../../support/claims.ts";
import { lost, never, Place, unheard } from "./place.ts";

Deno.test("CohortStore.release() that fails is retried, and the next ask has another id", async () => {
  for (const fault of [lost, unheard]) {
    const place = new Place({ keep: 1 });
    const first = await place.acquire();
    place.line.faults.release.push(fault);
    await place.clock.advance(1);
    const released = first.release();
    const next = await place.begin();
    await place.clock.advance(1_000);
    await released;
    assert(next.lock?.held && next.lock.fence > first.fence);
    const ids = place.line.calls.filter(({ operation }) => operation === "attempt").map(({ claim }) => claim.owner);
    assert(ids.at(-1) !== ids[0]);
    await next.lock.release();
    await place.clock.advance(1_000);
    await place.assertEmpty();
  }
});

Deno.test("CohortStore gives back in the background what a direct release() could not", async () => {
  const place = new Place();
  const claim = claimOf("a");
  assert((await place.cohort.attempt(claim, { enqueue: false })).granted);
  place.line.faults.release.push(lost, lost, lost);
  await assertRejects(() => place.cohort.release(claim), Error, "cut off");
  await place.clock.advance(1_000);
  await place.assertEmpty();
});

Deno.test("CohortStore retries a give-back for as long as the lease lasts", async () => {
  const place = new Place();
  const lock = await place.acquire({ lease: 60_000, renew: false });
  place.line.down = lost;
  const released = assertRejects(() => lock.release(), StoreError);
  await place.clock.advance(20_000);
  await released;
  place.line.down = undefined;
  await place.clock.advance(1_000);
  await place.assertEmpty();
});

Deno.test("CohortStore.attempt() fails for all waiters at once, and costs one request", async () => {
  const place = new Place();
  place.line.down = () => new Promise((_, reject) => place.clock.timer(500, () => reject(new Error("cut off"))));
  const waiters = await Promise.all(Array.from({ length: 32 }, () => place.begin()));
  assertEquals(place.line.count("attempt"), 1);
  place.line.down = lost;
  await place.clock.advance(500);
  await place.clock.advance(12_000);
  for (const { error } of waiters) assert(error instanceof StoreError, `${error}`);
  const attempts = place.line.count("attempt");
  assert(attempts < 60, `a single waiter makes about 25 attempts: ${attempts}`);
  place.line.down = undefined;
  await place.clock.advance(60_000);
  await place.assertEmpty();
});

Deno.test("CohortStore.wakeup() resolves for those that sleep when a request fails", async () => {
  const place = new Place();
  const holder = claimOf("a");
  assert((await place.memory.attempt(holder, { enqueue: false })).granted);
  const claims = [claimOf("a"), claimOf("a")];
  const over = new AbortController();
  let woken = 0;
  for (const claim of claims) {
    assert(!(await place.cohort.attempt(claim, { enqueue: true })).granted);
    place.cohort.wakeup(claim, over.signal).then(() => woken++);
  }
  place.line.faults.attempt.push(lost);
  await place.memory.release(holder);
  await settled();
  assertEquals(woken, 2);
  const requests = place.line.calls.length;
  for (const claim of claims) {
    await assertRejects(() => place.cohort.attempt(claim, { enqueue: true }), Error, "cut off");
  }
  assertEquals(place.line.calls.length, requests, "each is told of the fault");
  // Its place in the queue of the store is the one that it had.
  const stranger = claimOf("a");
  assert(!(await place.memory.attempt(stranger, { enqueue: true })).granted);
  assert((await place.cohort.attempt(claims[0]!, { enqueue: true })).granted);
  over.abort();
  for (const claim of claims) await place.cohort.release(claim);
  await place.memory.release(stranger);
  await place.assertEmpty();
});

Deno.test("CohortStore.attempt() does not wait for one answer for ever", async () => {
  const place = new Place();
  let answer = () => {};
  place.line.faults.attempt.push(async (go) => {
    await new Promise<void>((resolve) => answer = resolve);
    return await go();
  });
  const first = await place.begin();
  await place.clock.advance(999);
  const second = await place.begin();
  assertEquals(place.line.count("attempt"), 1);
  await place.clock.advance(1);
  const third = await place.begin();
  assertEquals(place.line.count("attempt"), 2);
  for (const each of [first, second, third]) {
    assert(each.lock?.held);
    await each.lock.release();
    await settled();
  }
  // What is executed after the release is undone.
  answer();
  await place.assertEmpty();
});

Deno.test("CohortStore undoes an attempt that is answered when nobody waits", async () => {
  const place = new Place();
  let answer = () => {};
  place.line.faults.attempt.push(async (go) => {
    await new Promise<void>((resolve) => answer = resolve);
    return await go();
  });
  const aborted = new AbortController();
  const waiter = await place.begin({ signal: aborted.signal });
  aborted.abort(new Error("enough"));
  await settled();
  assertEquals((waiter.error as Error).message, "enough");
  answer();
  await settled();
  await place.assertEmpty();
});

Deno.test("CohortStore.release() of the last waiter leaves the queue of the store", async () => {
  const place = new Place();
  const holder = await place.acquire({}, place.memory);
  const waiters = [await place.begin({ wait: 1_000 }), await place.begin({ wait: 2_000 })];
  await place.clock.advance(1_500);
  assert(waiters[0]!.error !== undefined && waiters[1]!.error === undefined);
  assertEquals((await place.memory.query()).pending.length, 1);
  await place.clock.advance(1_000);
  assertEquals((await place.memory.query()).pending.length, 0);
  await holder.release();
  await place.assertEmpty();
});

Deno.test("cohort() serves waiters although the first one's renewal is never answered", async () => {
  const place = new Place({ keep: 200 });
  const holder = await place.acquire({ lease: 900, renew: false });
  const waiters = [await place.begin({ lease: 900 }), await place.begin({ lease: 900 })];
  // More than a tenth of the lease is over: it is renewed for the next one.
  await place.clock.advance(100);
  place.line.faults.renew.push(never);
  await holder.release();
  for (let served = 0; served < 2; served++) {
    await place.clock.advance(5_000);
    const lock = waiters.map(({ lock }) => lock).find((lock) => lock?.held);
    assert(lock !== undefined, `${served} of them had the lock`);
    await lock.release();
  }
});

Deno.test("cohort() serves waiters although each request takes almost half a lease", async () => {
  const place = new Place({ keep: 200 });
  place.line.down = async (go) => {
    await place.clock.sleep(200);
    const answer = await go();
    await place.clock.sleep(200);
    return answer;
  };
  const waiters = await Promise.all([1, 2, 3].map(() => place.begin({ lease: 900 })));
  for (const { promise } of waiters) promise.then((lock) => lock.release()).catch(() => {});
  await place.clock.advance(10_000);
  assertEquals(waiters.map(({ lock, error }) => lock !== undefined || error), [true, true, true]);
});

Deno.test("cohort() does not wait for a renewal once the lock was stolen", async () => {
  const place = new Place({ keep: 10_000 });
  const holder = await place.acquire({ lease: 60_000, renew: false });
  const waiter = await place.begin({ lease: 60_000 });
  await place.clock.advance(7_000);
  place.line.faults.renew.push(never);
  await holder.release();
  await place.clock.advance(100);
  const thief = await place.acquire({ steal: true });
  await thief.release();
  await place.clock.advance(1_000);
  assert(waiter.lock?.held);
});

Deno.test("CohortStore.evict() evicts although a renewal is never answered", async () => {
  const place = new Place({ keep: 1_000 });
  const holder = await place.acquire({ lease: 60_000, renew: false });
  const waiter = await place.begin({ lease: 50_000 });
  place.line.faults.renew.push(never);
  await holder.release();
  await settled();
  const evicting = place.cohort.evict!("a");
  await place.clock.advance(10_000);
  assertEquals(await evicting, 1);
  assert(waiter.lock?.held);
});
