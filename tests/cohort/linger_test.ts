import { assert, assertEquals } from "@std/assert";
import { settled } from "../support/virtual_clock.ts";
import { ask, claimOf, grant } from "../support/claims.ts";
import { Place, unheard } from "./place.ts";

Deno.test("HandoffCohort lingers, and grants the next handle without a request", async () => {
  const place = new Place({ keep: 100, linger: 50 });
  const first = await place.acquire();
  await first.release();
  const { length } = place.line.calls;
  for (let i = 1n; i <= 10n; i++) {
    const next = await place.acquire();
    assertEquals(next.fence, first.fence + i);
    await next.release();
  }
  assertEquals(place.clock.pending, 2, "one timer for all that linger, and one for the lease");
  assertEquals(place.line.calls.length, length);
  await place.clock.advance(50);
  await place.assertEmpty();
});

Deno.test("HandoffCohort lingers for linger after the last release, and within keep", async () => {
  const place = new Place({ keep: 30, linger: 20 });
  const first = await place.acquire();
  await first.release();
  await place.clock.advance(15);
  await (await place.acquire()).release();
  const rival = await place.begin({}, place.memory);
  await place.clock.advance(14);
  assertEquals(rival.lock, undefined);
  await place.clock.advance(1);
  await (await rival.promise).release();
  await place.assertEmpty();
});

Deno.test("HandoffCohort does not linger when the store has said that others wait", async () => {
  const place = new Place({ keep: 100, linger: 100 });
  const { first, rival } = await place.contended();
  await first.lock!.release();
  await settled();
  assert(rival.lock?.held);
  await rival.lock.release();
  await place.assertEmpty();
});

Deno.test("HandoffCohort shortens the lease that lingers, and renews it for the next", async () => {
  const place = new Place({ keep: 60_000, linger: 10_000 });
  await (await place.acquire({ lease: 180_000 })).release();
  await place.clock.advance(1);
  assertEquals(place.line.calls.at(-1)?.claim.lease, 10_250);
  const next = await place.acquire({ lease: 180_000, renew: false });
  assertEquals(place.line.calls.at(-1)?.claim.lease, 180_000);
  await place.clock.advance(100_000);
  assert(next.held);
  await ask(place.memory, claimOf("a"), false);
  await next.release();
  await place.assertEmpty();
});

Deno.test("HandoffCohort does not prolong a lease that lingers and is short by itself", async () => {
  const place = new Place({ keep: 60_000, linger: 10_000 });
  await (await place.acquire({ lease: 5_000 })).release();
  await place.clock.advance(1);
  assertEquals(place.line.count("renew"), 0);
  await place.cohort[Symbol.asyncDispose]();
  await place.assertEmpty();
});

Deno.test("HandoffCohort keeps no name after a try that finds its lingering lock lost", async () => {
  const place = new Place({ keep: 60_000, linger: 60_000 });
  place.line.revocation = () => new Promise(() => {});
  await (await place.acquire({ lease: 10_000 })).release();
  await place.memory.evict("a");
  const rival = claimOf("a");
  await grant(place.memory, rival);
  await place.clock.advance(2_000);
  await ask(place.cohort, claimOf("a", "exclusive", 10_000), false);
  await place.memory.release(rival);
  await place.assertEmpty();
});

Deno.test("HandoffCohort grants its lingering lock to a try that attempts twice, each time", async () => {
  const place = new Place({ keep: 60_000, linger: 10_000 });
  await (await place.acquire({ lease: 60_000 })).release();
  await place.clock.advance(1);
  const claim = claimOf("a", "exclusive", 60_000);
  await Promise.all([grant(place.cohort, claim), grant(place.cohort, claim)]);
  assert(await place.cohort.release(claim));
  await place.cohort[Symbol.asyncDispose]();
  await place.assertEmpty();
});

Deno.test("HandoffCohort renews before a grant when the reply to a shortening was lost", async () => {
  const place = new Place({ keep: 60_000, linger: 10_000 });
  await (await place.acquire({ lease: 60_000 })).release();
  place.line.faults.renew.push(unheard);
  await place.clock.advance(1);
  assertEquals(place.line.faults.renew, []);
  const next = await place.acquire({ lease: 60_000, renew: false });
  await place.clock.advance(30_000);
  assert(next.held);
  await ask(place.memory, claimOf("a"), false);
  await next.release();
  await place.cohort[Symbol.asyncDispose]();
  await place.assertEmpty();
});

Deno.test("HandoffCohort grants nothing while a shortening is not answered", async () => {
  const place = new Place({ keep: 60_000, linger: 10_000 });
  await (await place.acquire({ lease: 60_000 })).release();
  let answer = () => {};
  place.line.faults.renew.push(async (go) => {
    await new Promise<void>((resolve) => answer = resolve);
    return await go();
  });
  await place.clock.advance(1);
  const next = await place.begin({ lease: 60_000, renew: false });
  assertEquals(next.lock, undefined);
  answer();
  await settled();
  await place.clock.advance(30_000);
  assert(next.lock?.held);
  await ask(place.memory, claimOf("a"), false);
  await next.lock.release();
  await place.cohort[Symbol.asyncDispose]();
  await place.assertEmpty();
});

Deno.test("HandoffCohort ends its linger for a claim of its process that cannot join", async () => {
  const kinds = [claimOf("a", 3), claimOf("a", "shared"), claimOf("a", "exclusive", 60_000, "me")];
  for (const claim of kinds) {
    for (const enqueue of [true, false]) {
      const place = new Place({ keep: 60_000, linger: 60_000 });
      await (await place.acquire()).release();
      const attempt = await place.cohort.attempt(claim, { enqueue });
      assert(attempt.granted, "at once");
      await place.cohort.release(claim);
      await place.assertEmpty();
    }
  }
});

Deno.test("HandoffCohort asks the store after a pause while it lingered", async () => {
  const place = new Place({ keep: 60_000, linger: 1_000 });
  const first = await place.acquire();
  await first.release();
  await place.clock.advance(10);
  // The process stands still, and somebody else has the lock meanwhile.
  place.clock.stall(5_000);
  const rival = await place.acquire({}, place.memory);
  const next = await place.begin();
  assertEquals(next.lock, undefined);
  assert(rival.held && rival.fence > first.fence);
  await rival.release();
  await place.clock.advance(1_000);
  assert(next.lock?.held && next.lock.fence > rival.fence);
  await next.lock.release();
  await place.clock.advance(60_000);
  await place.assertEmpty();
});

Deno.test("HandoffCohort does not grant what a jump of the clock may have ended", async () => {
  const place = new Place({ keep: 60_000, linger: 60_000 });
  await (await place.acquire()).release();
  const { length } = place.line.calls;
  place.clock.setWall(3_600_000);
  const next = await place.acquire();
  assert(place.line.calls.length > length);
  await next.release();
  await place.cohort[Symbol.asyncDispose]();
  await place.assertEmpty();
});

Deno.test("HandoffCohort.query() and evict() do not count a lock that no handle has", async () => {
  const place = new Place({ keep: 60_000, linger: 60_000 });
  const claim = claimOf("a");
  await grant(place.cohort, claim);
  await place.cohort.release(claim);
  assertEquals(await place.cohort.query!(), { held: [], pending: [] });
  assertEquals(await place.cohort.evict!("a"), 0);
  await place.assertEmpty();
});
