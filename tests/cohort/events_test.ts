import { assert, assertEquals, assertRejects } from "@std/assert";
import { type LockEvent, LockLostError } from "@holdfast/lock";
import { lost, Place } from "./place.ts";

/** A cohort whose events are noted. */
function observed(): { place: Place; events: LockEvent[] } {
  const place = new Place({ keep: 60_000 });
  const events: LockEvent[] = [];
  Object.assign(place.line, { observer: (event: LockEvent) => events.push(event) });
  return { place, events };
}

Deno.test("HandoffCohort notifies of each handle's own acquired, gave_up, released and lost", async () => {
  const { place, events } = observed();
  const first = await place.acquire();
  const [second, third] = [await place.begin({ wait: 500 }), await place.begin()];
  await place.clock.advance(1_000);
  await first.release();
  const last = await third.promise;
  assert(!last.signal.aborted);
  await place.memory.evict("a");
  await place.clock.advance(1);
  assert(last.signal.aborted);
  await assertRejects(() => last.release(), LockLostError);
  assert(second.error !== undefined);
  const waiter = events.find(({ type }) => type === "gave_up")!;
  const seen = events.map(({ type, owner, handle }) => {
    assertEquals(handle, owner);
    return `${type} ${owner === first.owner ? 1 : owner === waiter.owner ? 2 : owner === last.owner ? 3 : "?"}`;
  });
  const expected = ["acquired 1", "waiting 2", "waiting 3", "gave_up 2", "released 1", "acquired 3", "lost 3"];
  // The next one is handed the lock before the release of the one before has resolved.
  assertEquals(seen.toSorted(), expected.toSorted());
  for (const event of events) {
    if ("fence" in event) assertEquals(event.fence, event.owner === first.owner ? first.fence : last.fence);
  }
  const loss = events.at(-1)!;
  assert(loss.type === "lost" && loss.reason === "revoked", loss.type);
  await place.clock.advance(1_000);
  await place.assertEmpty();
});

Deno.test("HandoffCohort notifies the handle that has asked of a fault, and no other", async () => {
  const { place, events } = observed();
  const rival = await place.acquire({}, place.memory);
  const waiters = [await place.begin(), await place.begin(), await place.begin()];
  place.line.faults.attempt.push(lost);
  await place.clock.advance(1_000);
  await rival.release();
  const locks = [];
  for (const waiter of waiters) {
    await place.clock.advance(1_000);
    locks.push(await waiter.promise);
    await locks.at(-1)!.release();
  }
  const faults = events.filter(({ type }) => type === "fault");
  assertEquals(faults.map(({ owner }) => owner), [locks[0]!.owner]);
  await place.assertEmpty();
});
