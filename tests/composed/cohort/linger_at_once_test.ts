import { assert, assertEquals } from "@std/assert";
import { settled } from "../../support/virtual_clock.ts";
import { type Beginning, Place } from "./place.ts";
import type { CohortOptions } from "@holdfast/lock/cohort";

/** A handle of the process has the lock, and a stranger waits: the store has said so. */
async function contended(options: CohortOptions): Promise<{ place: Place; first: Beginning; stranger: Beginning }> {
  const place = new Place(options);
  const holder = await place.acquire({}, place.memory);
  const first = await place.begin();
  const stranger = await place.begin({}, place.memory);
  await holder.release();
  await settled();
  assert(first.lock?.held && stranger.lock === undefined);
  return { place, first, stranger };
}

Deno.test("HandoffCohort keeps a contended lock while its handle asks again at once", async () => {
  const { place, first, stranger } = await contended({ keep: 10, linger: 10 });
  let sections = 0;
  const work = async () => {
    for (let lock = first.lock!;; lock = await place.acquire()) {
      await place.clock.sleep(1);
      await lock.release();
      if (++sections === 50) return;
    }
  };
  const done = work();
  await place.clock.advance(9);
  assertEquals(stranger.lock, undefined, "within keep");
  assert(sections >= 9, `${sections} sections`);
  await place.clock.advance(2);
  assert(stranger.lock?.held, "next after keep and a section");
  await place.clock.advance(20);
  assert(stranger.lock.held);
  await stranger.lock.release();
  await place.clock.advance(500);
  await done;
  await place.clock.advance(20);
  await place.cohort[Symbol.asyncDispose]();
  await place.assertEmpty();
});

Deno.test("HandoffCohort gives a contended lock back before it turns to anything else", async () => {
  const { place, first, stranger } = await contended({ keep: 60_000, linger: 60_000 });
  await first.lock!.release();
  // Only microtasks: no timer has fired, no message was read.
  for (let i = 0; i < 1_000 && stranger.lock === undefined; i++) await undefined;
  assert(stranger.lock?.held);
  const late = await place.begin();
  assertEquals(late.lock, undefined, "it queues");
  await stranger.lock.release();
  await (await late.promise).release();
  await place.cohort[Symbol.asyncDispose]();
  await place.assertEmpty();
});

Deno.test("HandoffCohort without linger gives a contended lock back at once", async () => {
  const { place, first, stranger } = await contended({ keep: 60_000 });
  await first.lock!.release();
  const again = await place.begin();
  assert(stranger.lock?.held && again.lock === undefined);
  await stranger.lock.release();
  await (await again.promise).release();
  await place.assertEmpty();
});
