import { assert, assertEquals } from "@std/assert";
import { settled } from "../support/virtual_clock.ts";
import { claimOf, grant } from "../support/claims.ts";
import { Place } from "./place.ts";

/** A revocation of which the process is not notified. */
const unheardOf = () => new Promise<never>(() => {});

Deno.test("HandoffCohort grants nothing by itself once its process steals the lock", async () => {
  const place = new Place({ keep: 60_000, linger: 60_000 });
  const [holder, waiter] = [claimOf("a"), claimOf("a")];
  const fence = await place.rowOf(holder, waiter);
  await place.cohort.release(holder);
  // It is the turn of the waiter now, which has not asked yet.
  const thief = claimOf("a");
  const stolen = place.cohort.attempt(thief, { enqueue: false, steal: true });
  const attempt = place.cohort.attempt(waiter, { enqueue: true });
  const granted = await stolen;
  assert(granted.granted && granted.fence > fence);
  assert(!(await attempt).granted, "the thief has it");
  assert(await place.cohort.release(thief));
  await settled();
  assert(await grant(place.cohort, waiter) > granted.fence, "its turn comes");
  await place.cohort.release(waiter);
  await place.cohort[Symbol.asyncDispose]();
  await place.assertEmpty();
});

Deno.test("HandoffCohort hands nothing on after its process stole from a holder", async () => {
  for (const how of ["steal", "evict"]) {
    const place = new Place({ keep: 60_000 });
    const [holder, waiter] = await place.row({}, {});
    const thief = claimOf("a");
    if (how === "steal") assert((await place.cohort.attempt(thief, { enqueue: false, steal: true })).granted);
    else assertEquals(await place.cohort.evict!("a"), 1);
    await holder.release().catch(() => {});
    await settled();
    assertEquals(waiter!.lock !== undefined, how === "evict", how);
    await place.cohort.release(thief);
    const lock = await waiter!.promise;
    assert(lock.held && lock.fence > holder.fence);
    await lock.release();
    await place.assertEmpty();
  }
});

Deno.test("HandoffCohort.revocation() asks the store once for all handles of a grant", async () => {
  const place = new Place({ keep: 60_000 });
  let asked = 0;
  place.line.revocation = (claim, signal) => {
    asked++;
    return place.memory.revocation(claim, signal);
  };
  const [holder, ...waiters] = await place.row({}, {}, {});
  await holder.release();
  for (const { promise } of waiters) {
    const lock = await promise;
    assert(!lock.signal.aborted);
    await lock.release();
  }
  assertEquals(asked, 1);
  await place.assertEmpty();
});

Deno.test("HandoffCohort.attempt() that was granted before a steal is for one handle only", async () => {
  const place = new Place({ keep: 60_000 });
  let answer = () => {};
  place.line.faults.attempt.push(async (go) => {
    const attempt = await go();
    await new Promise<void>((resolve) => answer = resolve);
    return attempt;
  });
  const waiters = [await place.begin(), await place.begin()];
  const thief = claimOf("a");
  assert((await place.cohort.attempt(thief, { enqueue: false, steal: true })).granted);
  answer();
  await settled();
  await waiters[0]!.lock?.release().catch(() => {});
  await settled();
  assertEquals(waiters[1]!.lock, undefined);
  await place.cohort.release(thief);
  await (await waiters[1]!.promise).release();
  await place.assertEmpty();
});

Deno.test("HandoffCohort.revocation() notifies the holder of a theft elsewhere", async () => {
  const place = new Place({ keep: 60_000 });
  const [first, second, third] = await place.row({}, {}, {});
  await first.release();
  await settled();
  assert(second?.lock?.held && !second.lock.signal.aborted);
  const thief = claimOf("a");
  assert((await place.memory.attempt(thief, { enqueue: false, steal: true })).granted);
  await settled();
  assert(second.lock.signal.aborted);
  await second.lock.release().catch(() => {});
  await settled();
  assertEquals(third!.lock, undefined, "the process knows it as well");
  await place.memory.release(thief);
  const { fence } = await third!.promise;
  assert(fence > second.lock.fence);
  await third!.lock!.release();
  await place.assertEmpty();
});

Deno.test("HandoffCohort.release() vouches for a handle; the last one asks the store", async () => {
  const place = new Place({ keep: 60_000 });
  place.line.revocation = unheardOf;
  const [first, second] = [claimOf("a"), claimOf("a")];
  await place.rowOf(first, second);
  await place.memory.evict("a");
  assert(await place.cohort.release(first), "as far as the process knows");
  await grant(place.cohort, second);
  assert(!await place.cohort.release(second), "the store does not know it any more");
  await place.assertEmpty();
});

Deno.test("HandoffCohort hands nothing on that the store turns out to have lost", async () => {
  const place = new Place({ keep: 60_000 });
  place.line.revocation = unheardOf;
  const [first, second] = await place.row({ lease: 30_000 }, { lease: 60_000 });
  const thief = claimOf("a");
  const stolen = await place.memory.attempt(thief, { enqueue: false, steal: true });
  assert(stolen.granted);
  await first.release();
  await settled();
  assertEquals(second!.lock, undefined, "its lease would have differed, so the store was asked");
  await place.memory.release(thief);
  const { fence } = await second!.promise;
  assert(fence > stolen.fence);
  await second!.lock!.release();
  await place.assertEmpty();
});

Deno.test("HandoffCohort releases what is lost, which a quorum may have on some nodes", async () => {
  const place = new Place({ keep: 60_000 });
  place.line.revocation = unheardOf;
  const [first, second] = [claimOf("a"), claimOf("a")];
  await place.rowOf(first, second);
  await place.cohort.release(first);
  await grant(place.cohort, second);
  await settled();
  place.line.calls.length = 0;
  await place.memory.evict("a");
  assertEquals(await place.cohort.renew(second), "lost");
  await settled();
  assertEquals(place.line.calls.map(({ operation, claim }) => [operation, claim.owner]), [
    ["renew", first.owner],
    ["release", first.owner],
  ], "under the id that was granted it");
  await place.assertEmpty();
});

Deno.test("HandoffCohort.release() does not vouch for a lease that may be over", async () => {
  const place = new Place({ keep: 60_000 });
  const holder = { ...claimOf("a"), lease: 200 };
  const waiter = claimOf("a");
  await place.rowOf(holder, waiter);
  place.clock.stall(250);
  assert(!await place.cohort.release(holder), "the word of the store");
  await settled();
  await grant(place.cohort, waiter);
  await place.cohort.release(waiter);
  await place.assertEmpty();
});
