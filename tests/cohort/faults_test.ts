import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { settled } from "../support/virtual_clock.ts";
import { ask, claimOf, grant } from "../support/claims.ts";
import { lost, never, Place, unheard } from "./place.ts";

Deno.test("HandoffCohort.release() that fails is retried, and the next one asks", async () => {
  for (const fault of [lost, unheard]) {
    const place = new Place({ keep: 1 });
    const [first, next] = await place.row({}, {});
    place.line.faults.release.push(fault);
    await place.clock.advance(1);
    const released = first.release();
    await place.clock.advance(1_000);
    await released;
    assert(next?.lock?.held && next.lock.fence > first.fence);
    await next.lock.release();
    await place.clock.advance(1_000);
    await place.assertEmpty();
  }
});

Deno.test("HandoffCohort gives back in the background what a direct release() could not", async () => {
  const place = new Place();
  const claim = claimOf("a");
  await place.rowOf(claim);
  place.line.faults.release.push(lost, lost, lost);
  await assertRejects(() => place.cohort.release(claim), Error, "cut off");
  await place.clock.advance(1_000);
  await place.assertEmpty();
});

Deno.test("HandoffCohort retries a give-back for as long as the lease lasts", async () => {
  const place = new Place();
  const [lock] = await place.row({ lease: 60_000, renew: false });
  place.line.down = lost;
  const released = assertRejects(() => lock.release(), StoreError);
  await place.clock.advance(20_000);
  await released;
  place.line.down = undefined;
  await place.clock.advance(1_000);
  await place.assertEmpty();
});

Deno.test("HandoffCohort.attempt() of many costs two requests until they fail", async () => {
  const place = new Place();
  place.line.down = () => new Promise((_, reject) => place.clock.timer(500, () => reject(new Error("cut off"))));
  const waiters = await Promise.all(Array.from({ length: 32 }, () => place.begin()));
  // One is of the handle that was alone when it came.
  assertEquals(place.line.count("attempt"), 2);
  place.line.down = lost;
  await place.clock.advance(500);
  await place.clock.advance(12_000);
  for (const { error } of waiters) assert(error instanceof StoreError, `${error}`);
  place.line.down = undefined;
  await place.clock.advance(60_000);
  await place.assertEmpty();
});

Deno.test("HandoffCohort.wakeup() of the next one resolves when the first one fails", async () => {
  const place = new Place();
  const holder = claimOf("a");
  assert((await place.memory.attempt(holder, { enqueue: false })).granted);
  const claims = [claimOf("a"), claimOf("a"), claimOf("a")];
  const over = new AbortController();
  const woken: number[] = [];
  for (const [i, claim] of claims.entries()) {
    await ask(place.cohort, claim);
    place.cohort.wakeup(claim, over.signal).then(() => woken.push(i));
  }
  place.line.calls.length = 0;
  place.line.faults.attempt.push(lost);
  await assertRejects(() => place.cohort.attempt(claims[0]!, { enqueue: true }), Error, "cut off");
  await settled();
  assertEquals(woken, [1]);
  await ask(place.cohort, claims[1]!);
  assertEquals(place.line.calls.map(({ claim }) => claim.owner), claims.slice(0, 2).map(({ owner }) => owner));
  over.abort();
  await place.memory.release(holder);
  for (const claim of claims) await place.cohort.release(claim);
  await place.assertEmpty();
});

Deno.test("HandoffCohort wakes nobody in the place of one whose earlier attempt fails", async () => {
  const place = new Place();
  const [holder, first, next] = [claimOf("a"), claimOf("a"), claimOf("a")];
  assert((await place.memory.attempt(holder, { enqueue: false })).granted);
  const over = new AbortController();
  const woken: string[] = [];
  for (const claim of [first, next]) {
    await ask(place.cohort, claim);
    place.cohort.wakeup(claim, over.signal).then(() => woken.push(claim.owner));
  }
  const replies = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  for (const { promise } of replies) place.line.faults.attempt.push((go) => promise.then(go));
  const [earlier, later] = replies.map(() => place.cohort.attempt(first, { enqueue: true }));
  replies[0]!.reject(new Error("cut off"));
  await assertRejects(() => earlier!, Error, "cut off");
  await settled();
  assertEquals(woken, []);
  replies[1]!.resolve();
  assert(!(await later!).granted);
  over.abort();
  await place.memory.release(holder);
  for (const claim of [first, next]) await place.cohort.release(claim);
  await place.assertEmpty();
});

Deno.test("HandoffCohort.attempt() is sent after one fault that follows an answer", async () => {
  const place = new Place();
  const [holder, alone, first, second, third] = Array.from({ length: 5 }, () => claimOf("a"));
  const fails = async (claim = first!) => {
    place.line.faults.attempt.push(lost);
    await assertRejects(() => place.cohort.attempt(claim, { enqueue: true }), Error, "cut off");
  };
  await grant(place.memory, holder!);
  await ask(place.cohort, alone!);
  for (const claim of [first, second]) await fails(claim);
  place.clock.stall(250);
  await ask(place.cohort, third!);
  await fails(first);
  await ask(place.cohort, second!);
  await place.memory.release(holder!);
  for (const claim of [alone, first, second, third]) await place.cohort.release(claim!);
  await place.assertEmpty();
});

Deno.test("HandoffCohort.attempt() does not wait for one answer for ever", async () => {
  const place = new Place({ keep: 1_000 });
  const late: (() => void)[] = [];
  for (let i = 0; i < 2; i++) {
    place.line.faults.attempt.push(async (go) => {
      await new Promise<void>((resolve) => late.push(resolve));
      return await go();
    });
  }
  const waiters = [await place.begin(), await place.begin(), await place.begin()];
  assertEquals(place.line.count("attempt"), 2, "of one that was alone, and of the first behind it");
  await place.clock.advance(2_999);
  assertEquals(place.line.count("attempt"), 2);
  await place.clock.advance(1_000);
  assertEquals(place.line.count("attempt"), 3);
  assert(waiters[2]!.lock?.held);
  for (const execute of late) execute();
  for (const each of [2, 0, 1]) {
    await settled();
    assertEquals(waiters.map(({ lock }) => lock?.held), waiters.map((_, i) => i === each || undefined));
    await waiters[each]!.lock!.release();
    waiters[each]!.lock = undefined;
  }
  await place.assertEmpty();
});

Deno.test("HandoffCohort.attempt() rejects when the renewal for it takes as long as a lease", async () => {
  const place = new Place({ keep: 60_000 });
  const [first, second] = [claimOf("a", "exclusive", 1_000), claimOf("a", "exclusive", 1_000)];
  await place.rowOf(first, second);
  await place.clock.advance(200);
  place.line.faults.renew.push(async (go) => {
    const renewal = await go();
    await place.clock.sleep(990);
    return renewal;
  });
  await place.cohort.release(first);
  const late = place.cohort.attempt(second, { enqueue: true });
  // It rejects before anybody awaits it.
  late.catch(() => {});
  await place.clock.advance(990);
  await assertRejects(() => late, Error, "took longer than the lease");
  await place.cohort.release(second);
  await place.assertEmpty();
});

Deno.test("HandoffCohort.attempt() of a holder that has lost the lock asks the store", async () => {
  const place = new Place({ keep: 60_000 });
  place.line.revocation = () => new Promise(() => {});
  const [claim, next] = [claimOf("a"), claimOf("a")];
  await place.rowOf(claim, next);
  assertEquals(await place.memory.evict("a"), 1);
  const again = await place.cohort.attempt(claim, { enqueue: true });
  assert(!again.granted, "it is the turn of the next one");
  for (const each of [next, claim]) await place.cohort.release(each);
  await place.assertEmpty();
});

Deno.test("HandoffCohort undoes an attempt that is answered when nobody waits", async () => {
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

Deno.test("HandoffCohort.release() of the last waiter leaves the queue of the store", async () => {
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
  const [holder, ...waiters] = await place.row({ lease: 900, renew: false }, { lease: 900 }, { lease: 900 });
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
  const [holder, waiter] = await place.row({ lease: 60_000, renew: false }, { lease: 60_000 });
  await place.clock.advance(7_000);
  place.line.faults.renew.push(never);
  await holder.release();
  await place.clock.advance(100);
  const thief = await place.acquire({ steal: true });
  await thief.release();
  await place.clock.advance(1_000);
  assert(waiter?.lock?.held);
});

Deno.test("HandoffCohort.evict() evicts although a renewal is never answered", async () => {
  const place = new Place({ keep: 1_000 });
  const [holder, waiter] = await place.row({ lease: 60_000, renew: false }, { lease: 50_000 });
  place.line.faults.renew.push(never);
  await holder.release();
  await settled();
  const evicting = place.cohort.evict!("a");
  await place.clock.advance(10_000);
  assertEquals(await evicting, 1);
  assert(waiter?.lock?.held);
});
