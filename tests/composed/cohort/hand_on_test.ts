import { assert, assertEquals } from "@std/assert";
import { drift } from "../../../src/store.ts";
import { settled } from "../../support/virtual_clock.ts";
import { ask, claimOf, grant } from "../../support/claims.ts";
import { Place, unheard } from "./place.ts";

Deno.test("CohortStore hands a lock on to its waiters in order, without a request", async () => {
  const place = new Place();
  const first = await place.acquire();
  const waiters = [await place.begin(), await place.begin(), await place.begin()];
  const { length } = place.line.calls;
  let last = first;
  for (const waiter of waiters) {
    await last.release();
    await settled();
    assert(waiter.lock?.held && waiter.lock.fence === last.fence + 1n, "the next one, with the next fence");
    last = waiter.lock;
  }
  assertEquals(place.line.calls.length, length, "nothing was sent");
  await last.release();
  assertEquals(place.line.count("release"), 1);
  await place.assertEmpty();
});

Deno.test("CohortStore gives the lock back after keep, and queues at the end", async () => {
  const place = new Place({ keep: 10 });
  const first = await place.acquire();
  const waiters = [await place.begin(), await place.begin()];
  const stranger = await place.begin({}, place.memory);
  await place.clock.advance(4);
  await first.release();
  await settled();
  assert(waiters[0]!.lock?.held && stranger.lock === undefined, "within keep");
  await place.clock.advance(6);
  await waiters[0]!.lock.release();
  await settled();
  assert(waiters[1]!.lock === undefined, "after it");
  await (await stranger.promise).release();
  await (await waiters[1]!.promise).release();
  await place.assertEmpty();
});

Deno.test("CohortStore asks anew, under another id, when its fences are used up", async () => {
  const place = new Place();
  place.line.fences = false;
  const fences = [];
  const first = await place.acquire();
  const waiters = [await place.begin(), await place.begin()];
  fences.push(first.fence);
  await first.release();
  for (const waiter of waiters) {
    const lock = await waiter.promise;
    fences.push(lock.fence);
    await lock.release();
  }
  assertEquals(fences, [...new Set(fences)].sort((a, b) => a < b ? -1 : 1), "they rise");
  const ids = place.line.calls.filter(({ operation }) => operation === "attempt").map(({ claim }) => claim.owner);
  assertEquals([ids.length, new Set(ids).size], [3, 3]);
  await place.assertEmpty();
});

Deno.test("CohortStore.attempt() grants with the age of the lease, up to a tenth of it", async () => {
  const place = new Place({ keep: 60_000 });
  const lease = 1_000;
  let holder = await place.acquire({ lease, renew: false });
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

Deno.test("CohortStore.attempt() grants a lease of another length only once it is renewed", async () => {
  const place = new Place();
  const first = await place.acquire({ lease: 1_000, renew: false });
  const waiter = await place.begin({ lease: 60_000, renew: false });
  await first.release();
  await settled();
  assertEquals(place.line.calls.at(-1)?.claim.lease, 60_000);
  await place.clock.advance(30_000);
  assert(waiter.lock?.held, "held as long as it asked for");
  await ask(place.memory, claimOf("a"), false);
  await waiter.lock.release();
  await place.assertEmpty();
});

Deno.test("CohortStore.wakeup() resolves at once if the turn came between two sleeps", async () => {
  const place = new Place();
  const [holder, waiter] = [claimOf("a"), claimOf("a")];
  const fence = await grant(place.cohort, holder);
  await ask(place.cohort, waiter);
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

Deno.test("CohortStore skips a waiter that died, whosever turn it is", async () => {
  const place = new Place({ keep: 60_000 });
  const [holder, dead] = [claimOf("a"), claimOf("a")];
  await grant(place.cohort, holder);
  await ask(place.cohort, dead);
  await place.cohort.release(holder);
  const next = await place.begin();
  const stranger = await place.begin({}, place.memory);
  await place.clock.advance(2_000);
  assertEquals([next.lock, stranger.lock], [undefined, undefined], "it may still come");
  await place.clock.advance(10_000);
  await (await next.promise).release();
  await (await stranger.promise).release();
  await place.assertEmpty();
});

Deno.test("CohortStore does not take a dead waiter for alive at its next turn", async () => {
  const place = new Place({ keep: 10 });
  place.line.fences = false;
  const [holder, dead] = [claimOf("a"), claimOf("a", "exclusive", 200)];
  await grant(place.cohort, holder);
  await ask(place.cohort, dead);
  await place.cohort.release(holder);
  const next = await place.begin({ wait: 5_000 });
  await place.clock.advance(5_000);
  await (await next.promise).release();
  await place.assertEmpty();
});

Deno.test("CohortStore gives the lock back if the only waiter died when it was its turn", async () => {
  const place = new Place({ keep: 10 });
  const [holder, dead] = [claimOf("a"), claimOf("a")];
  await grant(place.cohort, holder);
  await ask(place.cohort, dead);
  await place.cohort.release(holder);
  const stranger = await place.begin({}, place.memory);
  await place.clock.advance(5_000);
  assert(stranger.lock?.held);
  await stranger.lock.release();
  await place.assertEmpty();
});

Deno.test("CohortStore.attempt() of two that do not wait uses two ids, and grants one", async () => {
  const place = new Place();
  const claims = [claimOf("a"), claimOf("a")];
  const attempts = await Promise.all(claims.map((claim) => place.cohort.attempt(claim, { enqueue: false })));
  assertEquals(attempts.map(({ granted }) => granted), [true, false]);
  assertEquals(new Set(place.line.calls.map(({ claim }) => claim.owner)).size, 2);
  for (const claim of claims) await place.cohort.release(claim);
  await place.assertEmpty();
});

Deno.test("CohortStore does not use fences again when a reply was lost", async () => {
  const place = new Place({ keep: 60_000 });
  const fences: bigint[] = [];
  const first = await place.acquire({ lease: 1_000, renew: false });
  const waiters = [await place.begin({ lease: 2_000 }), await place.begin()];
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
  const ids = place.line.calls.filter(({ operation }) => operation === "attempt").map(({ claim }) => claim.owner);
  assertEquals([ids.length, new Set(ids).size], [2, 2], "it goes back, and is asked for under another id");
  await place.clock.advance(10_000);
  await place.assertEmpty();
});

Deno.test("CohortStore does not let a lease that ran out keep the lock from its waiters", async () => {
  const place = new Place({ keep: 60_000 });
  const forgotten = await place.acquire({ lease: 2_000, renew: false });
  const waiter = await place.begin();
  await place.clock.advance(2_100);
  assert(!forgotten.held && waiter.lock?.held);
  assert(waiter.lock.fence > forgotten.fence);
  await forgotten.release().catch(() => {});
  assert(waiter.lock.held);
  await waiter.lock.release();
  await place.assertEmpty();
});

Deno.test("CohortStore asks the store again after the clocks have jumped", async () => {
  for (const by of [3_600_000, -3_600_000]) {
    const place = new Place({ keep: 60_000 });
    const first = await place.acquire();
    const waiter = await place.begin();
    const { length } = place.line.calls;
    place.clock.setWall(by);
    await first.release().catch(() => {});
    await settled();
    // Set back, the wall clock says nothing, and the monotonic one decides.
    if (by < 0) assertEquals(place.line.calls.length, length);
    else assert(place.line.calls.length > length, "the process may have slept past the lease");
    await place.clock.advance(1_000);
    assert(waiter.lock?.held);
    assert(waiter.lock.fence > first.fence);
    await waiter.lock.release();
    await place.assertEmpty();
  }
});
