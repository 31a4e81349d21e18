import { assert, assertEquals } from "@std/assert";
import { settled } from "../../support/virtual_clock.ts";
import { claimOf, grant } from "../../support/claims.ts";
import { Place, unheard } from "./place.ts";

const QUEUE = { enqueue: true };

/** Returns a place that does not know yet that several handles want the lock. */
function unknown(options = {}): Place {
  return new Place(options, []);
}

Deno.test("CohortStore has a handle ask as itself while no other one wants the lock", async () => {
  const place = unknown();
  for (let i = 0; i < 2; i++) {
    const lock = await place.acquire();
    assertEquals(place.cohort.names, ["a"]);
    await lock.release();
    const claims = place.line.calls.splice(0).map(({ claim }) => claim);
    assertEquals(claims.map(({ owner, fences }) => [owner, fences]), [[lock.owner, undefined], [
      lock.owner,
      undefined,
    ]]);
  }
  await place.assertEmpty();
});

Deno.test("CohortStore asks for a lone handle too where it lingers", async () => {
  const place = unknown({ linger: 5 });
  const first = await place.acquire();
  await first.release();
  const second = await place.acquire();
  assertEquals(place.line.calls.length, 1, "nothing was sent for the second one");
  const released = second.release();
  await place.clock.advance(10);
  await released;
  await place.assertEmpty();
});

Deno.test("CohortStore remembers that several handles want a lock", async () => {
  const place = unknown();
  const alone = await place.acquire();
  const second = await place.begin();
  await alone.release();
  await (await second.promise).release();
  await place.assertEmpty();
  // The fences of the last block are ahead of the clock: the next block would have one.
  await place.clock.advance(20);
  const first = await place.acquire();
  const next = await place.begin();
  const { length } = place.line.calls;
  await first.release();
  assert((await next.promise).held);
  assertEquals(place.line.calls.length, length, "handed on without a request");
  await next.lock!.release();
  await place.assertEmpty();
});

Deno.test("CohortStore keeps the place of a handle that asked by itself", async () => {
  const place = unknown();
  const stranger = await place.acquire({}, place.memory);
  const waiters = [await place.begin(), await place.begin(), await place.begin()];
  await stranger.release();
  for (const waiter of waiters) {
    await settled();
    assert(waiter.lock?.held, "in their order");
    await waiter.lock.release();
  }
  await place.assertEmpty();
});

Deno.test("CohortStore grants again to a handle that asked by itself, others or not", async () => {
  for (const others of [false, true]) {
    const place = unknown();
    const claim = claimOf("a");
    place.line.faults.attempt.push(unheard);
    await place.cohort.attempt(claim, QUEUE).catch(() => {});
    const other = others ? await place.begin() : undefined;
    assert((await place.cohort.attempt(claim, QUEUE)).granted, "the reply was lost");
    assert((await place.cohort.attempt(claim, QUEUE)).granted, "asked once more");
    await place.cohort.release(claim);
    await (await other?.promise)?.release();
    await place.assertEmpty();
  }
});

Deno.test("CohortStore notes a grant to a lone handle that others came before", async () => {
  const place = unknown();
  const claim = claimOf("a");
  const sent = place.cohort.attempt(claim, QUEUE);
  const other = place.begin();
  assert((await sent).granted);
  assert((await place.cohort.attempt(claim, QUEUE)).granted, "asked once more");
  await place.cohort.release(claim);
  await (await (await other).promise).release();
  await place.assertEmpty();
});

Deno.test("CohortStore forgets a lone handle that is refused, released or revoked", async () => {
  const place = unknown();
  const held = claimOf("a");
  await grant(place.memory, held);
  assertEquals((await place.cohort.attempt(claimOf("a"), { enqueue: false })).granted, false);
  assertEquals(place.cohort.names, []);
  await place.memory.release(held);
  await grant(place.cohort, claimOf("a"));
  assertEquals(await place.cohort.evict!("a"), 1);
  assertEquals(place.cohort.names, []);
  await grant(place.cohort, claimOf("a"));
  const thief = claimOf("a");
  await grant(place.cohort, thief, { steal: true });
  assertEquals(place.cohort.names, []);
  await place.cohort.release(thief);
  await place.assertEmpty();
});

Deno.test("CohortStore forgets a lone handle whose lease has ended when others come", async () => {
  for (const early of [false, true]) {
    const place = unknown();
    const claim = claimOf("a", "exclusive", 100);
    const sent = place.cohort.attempt(claim, QUEUE);
    if (!early) await sent;
    const other = await place.begin();
    assert((await sent).granted);
    await place.clock.advance(100);
    await (await other.promise).release();
    await place.assertEmpty();
  }
});

Deno.test("CohortStore forgets its lone handles when it is disposed of", async () => {
  const place = unknown();
  const lock = await place.acquire();
  await place.cohort[Symbol.asyncDispose]();
  assertEquals(place.cohort.names, []);
  await lock.extend();
  await lock.release();
  await place.assertEmpty();
});
