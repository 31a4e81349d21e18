import { assert, assertEquals } from "@std/assert";
import { settled } from "../../support/virtual_clock.ts";
import { claimOf, grant } from "../../support/claims.ts";
import { Place } from "./place.ts";

Deno.test("CohortStore grants nothing by itself once its process steals the lock", async () => {
  const place = new Place({ keep: 60_000, linger: 60_000 });
  const [holder, waiter] = [claimOf("a"), claimOf("a")];
  const fence = await grant(place.cohort, holder);
  const sleeping = place.cohort.attempt(waiter, { enqueue: true });
  await sleeping;
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

Deno.test("CohortStore hands nothing on after its process stole from a holder", async () => {
  for (const how of ["steal", "evict"]) {
    const place = new Place({ keep: 60_000 });
    const holder = await place.acquire();
    const waiter = await place.begin();
    const thief = claimOf("a");
    if (how === "steal") assert((await place.cohort.attempt(thief, { enqueue: false, steal: true })).granted);
    else assertEquals(await place.cohort.evict!("a"), 1);
    await holder.release().catch(() => {});
    await settled();
    assertEquals(waiter.lock !== undefined, how === "evict", how);
    await place.cohort.release(thief);
    const lock = await waiter.promise;
    assert(lock.held && lock.fence > holder.fence);
    await lock.release();
    await place.assertEmpty();
  }
});

Deno.test("CohortStore.attempt() that was granted before a steal is for one handle only", async () => {
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

Deno.test("CohortStore.revocation() notifies the holder of a theft elsewhere", async () => {
  const place = new Place({ keep: 60_000 });
  const first = await place.acquire();
  const [second, third] = [await place.begin(), await place.begin()];
  await first.release();
  await settled();
  assert(second.lock?.held && !second.lock.signal.aborted);
  const thief = claimOf("a");
  assert((await place.memory.attempt(thief, { enqueue: false, steal: true })).granted);
  await settled();
  assert(second.lock.signal.aborted);
  await second.lock.release().catch(() => {});
  await settled();
  assertEquals(third.lock, undefined, "the process knows it as well");
  await place.memory.release(thief);
  const { fence } = await third.promise;
  assert(fence > second.lock.fence);
  await third.lock!.release();
  await place.assertEmpty();
});

Deno.test("CohortStore.release() vouches for a handle; the last one asks the store", async () => {
  const place = new Place({ keep: 60_000 });
  const [first, second] = [claimOf("a"), claimOf("a")];
  await grant(place.cohort, first);
  assert(!(await place.cohort.attempt(second, { enqueue: true })).granted);
  await place.memory.evict("a");
  assert(await place.cohort.release(first), "as far as the process knows");
  await grant(place.cohort, second);
  assert(!await place.cohort.release(second), "the store does not know it any more");
  await place.assertEmpty();
});

Deno.test("CohortStore hands nothing on that the store turns out to have lost", async () => {
  const place = new Place({ keep: 60_000 });
  const first = await place.acquire({ lease: 30_000 });
  const second = await place.begin({ lease: 60_000 });
  const thief = claimOf("a");
  const stolen = await place.memory.attempt(thief, { enqueue: false, steal: true });
  assert(stolen.granted);
  await first.release();
  await settled();
  assertEquals(second.lock, undefined, "its lease would have differed, so the store was asked");
  await place.memory.release(thief);
  const { fence } = await second.promise;
  assert(fence > stolen.fence);
  await second.lock!.release();
  await place.assertEmpty();
});

Deno.test("CohortStore releases what is lost, which a quorum may have on some nodes", async () => {
  const place = new Place({ keep: 60_000 });
  const holder = claimOf("a");
  await grant(place.cohort, holder);
  await place.memory.evict("a");
  assertEquals(await place.cohort.renew(holder), "lost");
  await settled();
  const [asked, ...others] = place.line.calls.map(({ operation, claim }) => ({ operation, owner: claim.owner }));
  assertEquals(others.map(({ operation }) => operation), ["renew", "release"]);
  assert(others.every(({ owner }) => owner === asked!.owner), "under the id of the process");
  await place.assertEmpty();
});

Deno.test("CohortStore.release() does not vouch for a lease that may be over", async () => {
  const place = new Place({ keep: 60_000 });
  const holder = { ...claimOf("a"), lease: 200 };
  const waiter = claimOf("a");
  await grant(place.cohort, holder);
  assert(!(await place.cohort.attempt(waiter, { enqueue: true })).granted);
  place.clock.stall(250);
  assert(!await place.cohort.release(holder), "the word of the store");
  await settled();
  await grant(place.cohort, waiter);
  await place.cohort.release(waiter);
  await place.assertEmpty();
});
