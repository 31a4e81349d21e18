import { assert, assertEquals } from "@std/assert";
import { drift } from "../../src/contract/store.ts";
import { settled } from "../support/virtual_clock.ts";
import { ask, claimOf, grant } from "../support/claims.ts";
import { Place, unheard } from "./place.ts";

Deno.test("HandoffCohort hands a lock on to its waiters in order, without a request", async () => {
  const place = new Place();
  const [first, ...waiters] = await place.row({}, {}, {}, {});
  let last = first;
  for (const waiter of waiters) {
    await last.release();
    await settled();
    assert(waiter.lock?.held && waiter.lock.fence === last.fence + 1n, "the next one, with the next fence");
    last = waiter.lock;
  }
  assertEquals(place.line.calls, [], "nothing was sent");
  await last.release();
  assertEquals(place.line.count("release"), 1);
  await place.assertEmpty();
});

Deno.test("HandoffCohort gives the lock back after keep, and queues at the end", async () => {
  const place = new Place({ keep: 10 });
  const [first, ...waiters] = await place.row({}, {}, {});
  const rival = await place.begin({}, place.memory);
  await place.clock.advance(4);
  await first.release();
  await settled();
  assert(waiters[0]!.lock?.held && rival.lock === undefined, "within keep");
  await place.clock.advance(6);
  await waiters[0]!.lock.release();
  await settled();
  assert(waiters[1]!.lock === undefined, "after it");
  await (await rival.promise).release();
  await (await waiters[1]!.promise).release();
  await place.assertEmpty();
});

Deno.test("HandoffCohort asks for each handle when the store reserves no fences", async () => {
  const place = new Place();
  place.line.fences = false;
  const [first, ...waiters] = await place.row({}, {}, {});
  const fences = [first.fence];
  await first.release();
  for (const waiter of waiters) {
    const lock = await waiter.promise;
    fences.push(lock.fence);
    await lock.release();
  }
  assertEquals(fences, [...new Set(fences)].sort((a, b) => a < b ? -1 : 1), "they rise");
  assertEquals(
    [place.line.count("attempt"), place.line.count("release")],
    [2, 3],
    "the second one has a place by then",
  );
  await place.assertEmpty();
});

Deno.test("HandoffCohort.attempt() grants with the age of the lease, up to a tenth of it", async () => {
  const place = new Place({ keep: 60_000 });
  const lease = 1_000;
  let [holder] = await place.row({ lease, renew: false });
  for (const [age, renewals] of [[99, 0], [100, 0], [101, 1]] as const) {
    const waiter = await place.begin({ lease, renew: false });
    await place.clock.advance(age === 100 ? 1 : age === 101 ? 1 : age);
    await holder.release();
    await settled();
    assertEquals(place.line.count("renew"), renewals);
    assertEquals(waiter.lock?.remaining(), lease - drift(lease) - (renewals === 0 ? age : 0));
    holder = waiter.lock!;
  }
  await holder.release();
  await place.assertEmpty();
});

Deno.test("HandoffCohort.attempt() grants a lease of another length only once it is renewed", async () => {
  const place = new Place();
  const [first, waiter] = await place.row({ lease: 1_000, renew: false }, { lease: 60_000, renew: false });
  await first.release();
  await settled();
  assertEquals(place.line.calls.at(-1)?.claim.lease, 60_000);
  await place.clock.advance(30_000);
  assert(waiter?.lock?.held, "held as long as it asked for");
  await ask(place.memory, claimOf("a"), false);
  await waiter.lock.release();
  await place.assertEmpty();
});

Deno.test("HandoffCohort.wakeup() resolves at once if the turn came between two sleeps", async () => {
  const place = new Place();
  const [holder, waiter] = [claimOf("a"), claimOf("a")];
  const fence = await place.rowOf(holder, waiter);
  await place.cohort.release(holder);
  let woken = false;
  const over = new AbortController();
  const sleep = place.cohort.wakeup(waiter, over.signal).then(() => woken = true);
  await settled();
  assert(woken, "without any wake-up");
  await sleep;
  assertEquals(await grant(place.cohort, waiter), fence + 1n);
  await place.cohort.release(waiter);
  await place.assertEmpty();
});

Deno.test("HandoffCohort skips a waiter that died, whosever turn it is", async () => {
  const place = new Place({ keep: 60_000 });
  const [holder, dead] = [claimOf("a"), claimOf("a")];
  await place.rowOf(holder, dead);
  await place.cohort.release(holder);
  const next = await place.begin();
  await place.clock.advance(99);
  assertEquals(next.lock, undefined, "it may still come");
  await place.clock.advance(1);
  assert(next.lock?.held);
  await next.lock.release();
  await place.cohort.release(dead);
  await place.assertEmpty();
});

Deno.test("HandoffCohort does not take a waiter for alive that was silent for 3 s", async () => {
  const place = new Place({ keep: 60_000 });
  const [holder, dead] = [claimOf("a"), claimOf("a")];
  await place.rowOf(holder, dead);
  const next = await place.begin();
  await place.clock.advance(3_000);
  await place.cohort.release(holder);
  await settled();
  assert(next.lock?.held, "at once");
  await next.lock.release();
  await place.cohort.release(dead);
  await place.assertEmpty();
});

Deno.test("HandoffCohort gives the lock back if the only waiter died when it was its turn", async () => {
  const place = new Place({ keep: 10 });
  const [holder, dead] = [claimOf("a"), claimOf("a")];
  await place.rowOf(holder, dead);
  await place.cohort.release(holder);
  const rival = await place.begin({}, place.memory);
  await place.clock.advance(5_000);
  assert(rival.lock?.held);
  await rival.lock.release();
  await place.cohort.release(dead);
  await place.assertEmpty();
});

Deno.test("HandoffCohort.attempt() of two that do not wait grants one, under its own id", async () => {
  const place = new Place();
  const claims = [claimOf("a"), claimOf("a")];
  const attempts = await Promise.all(claims.map((claim) => place.cohort.attempt(claim, { enqueue: false })));
  assertEquals(attempts.map(({ granted }) => granted), [true, false]);
  assertEquals(place.line.calls.map(({ claim }) => claim.owner), claims.map(({ owner }) => owner));
  for (const claim of claims) await place.cohort.release(claim);
  await place.assertEmpty();
});

Deno.test("HandoffCohort does not use fences again when a reply was lost", async () => {
  const place = new Place({ keep: 60_000 });
  const fences: bigint[] = [];
  const [first, ...waiters] = await place.row({ lease: 1_000, renew: false }, { lease: 2_000 }, {});
  fences.push(first.fence);
  // The next one asks for another lease, and nobody knows what the store has made of that.
  place.line.faults.renew.push(unheard);
  await first.release();
  for (const waiter of waiters) {
    await place.clock.advance(100);
    const lock = await waiter.promise;
    fences.push(lock.fence);
    await lock.release();
  }
  assertEquals(place.line.faults.renew, []);
  assertEquals(fences.length, new Set(fences).size, `each once: ${fences}`);
  assert(place.line.count("attempt") > 0, "it went back, and was asked for anew");
  await place.clock.advance(10_000);
  await place.assertEmpty();
});

Deno.test("HandoffCohort does not let a lease that ran out keep the lock from its waiters", async () => {
  const place = new Place({ keep: 60_000 });
  const [forgotten, waiter] = await place.row({ lease: 2_000, renew: false }, {});
  await place.clock.advance(2_100);
  assert(!forgotten.held && waiter?.lock?.held);
  assert(waiter.lock.fence > forgotten.fence);
  await forgotten.release().catch(() => {});
  assert(waiter.lock.held);
  await waiter.lock.release();
  await place.assertEmpty();
});

Deno.test("HandoffCohort asks the store again after the clocks have jumped", async () => {
  for (const by of [3_600_000, -3_600_000]) {
    const place = new Place({ keep: 60_000 });
    const [first, waiter] = await place.row({}, {});
    place.clock.setWall(by);
    await first.release().catch(() => {});
    await settled();
    // Set back, the wall clock says nothing, and the monotonic one decides.
    if (by < 0) assertEquals(place.line.calls, []);
    else assert(place.line.calls.length > 0, "the process may have slept past the lease");
    await place.clock.advance(1_000);
    assert(waiter?.lock?.held);
    assert(waiter.lock.fence > first.fence);
    await waiter.lock.release();
    await place.assertEmpty();
  }
});
