import { assert, assertEquals } from "@std/assert";
import { Place } from "./place.ts";

Deno.test("HandoffCohort keeps a contended lock while its handle asks again at once", async () => {
  const place = new Place({ keep: 10, linger: 10 });
  const { first, rival } = await place.contended();
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
  assertEquals(rival.lock, undefined, "within keep");
  assert(sections >= 9, `${sections} sections`);
  await place.clock.advance(2);
  assert(rival.lock?.held, "next after keep and a section");
  await place.clock.advance(20);
  assert(rival.lock.held);
  await rival.lock.release();
  await place.clock.advance(500);
  await done;
  await place.clock.advance(20);
  await place.cohort[Symbol.asyncDispose]();
  await place.assertEmpty();
});

Deno.test("HandoffCohort gives a contended lock back before it turns to anything else", async () => {
  const place = new Place({ keep: 60_000, linger: 60_000 });
  const { first, rival } = await place.contended();
  await first.lock!.release();
  // Only microtasks: no timer has fired, no message was read.
  for (let i = 0; i < 1_000 && rival.lock === undefined; i++) await undefined;
  assert(rival.lock?.held);
  const late = await place.begin();
  assertEquals(late.lock, undefined, "it queues");
  await rival.lock.release();
  await (await late.promise).release();
  await place.cohort[Symbol.asyncDispose]();
  await place.assertEmpty();
});

Deno.test("HandoffCohort without linger gives a contended lock back at once", async () => {
  const place = new Place({ keep: 60_000 });
  const { first, rival } = await place.contended();
  await first.lock!.release();
  const again = await place.begin();
  assert(rival.lock?.held && again.lock === undefined);
  await rival.lock.release();
  await (await again.promise).release();
  await place.assertEmpty();
});
