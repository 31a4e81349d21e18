import { assert, assertEquals } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { ask, claimOf } from "../../support/claims.ts";
import { type Beginning, lost, Place } from "./place.ts";

/** Makes waiters with tickets of their own, behind a holder of the same process. */
async function queueUp(place: Place, count: number) {
  const holder = await place.acquire();
  const waiters: Beginning[] = [];
  for (let i = 0; i < count; i++) waiters.push(await place.begin());
  await place.clock.advance(20);
  assertEquals((await place.memory.query()).pending.length, count, "each has a ticket");
  return { holder, waiters };
}

/** Waits for each lock in turn, checks that nobody else has it meanwhile, and releases it. */
async function serve(place: Place, all: readonly Beginning[], section = 1_000): Promise<void> {
  for (const waiter of all) {
    for (let ms = 0; waiter.lock === undefined && ms < 2_000; ms += 10) {
      await place.clock.advance(10);
      for (const other of all) if (other !== waiter) assert(!other.lock?.held, "nobody else");
    }
    assert(waiter.lock?.held, "it is next");
    await place.clock.advance(section);
    await waiter.lock.release();
  }
}

Deno.test("CohortStore has one waiter ask for all that have tickets of their own", async () => {
  const place = new Place({ keep: 10 });
  const { holder, waiters } = await queueUp(place, 100);
  await place.clock.advance(2_000);
  const before = place.line.count("attempt");
  await place.clock.advance(10_000);
  // The store asks for one attempt every 200 ms.
  const asked = place.line.count("attempt") - before;
  assert(asked <= 51, `${asked} attempts`);
  await holder.release();
  await serve(place, waiters);
  await place.assertEmpty();
});

Deno.test("CohortStore keeps the places of parked waiters that the store takes for dead", async () => {
  const place = new Place({ keep: 10 });
  // Without wake-ups the store takes for dead who does not ask.
  Object.assign(place.line, { wakeup: undefined });
  const { holder, waiters } = await queueUp(place, 4);
  const all = [...waiters, await place.begin({}, place.memory)];
  const order: Beginning[] = [];
  // Each lock is released as soon as it is held: the next one must have asked by then.
  const served = all.map(async (waiter) => {
    const lock = await waiter.promise;
    order.push(waiter);
    await lock.release();
  });
  await place.clock.advance(5_000);
  await holder.release();
  await place.clock.advance(2_000);
  await Promise.all(served);
  assertEquals(order.map((waiter) => all.indexOf(waiter)), [0, 1, 2, 3, 4]);
  await place.assertEmpty();
});

Deno.test("CohortStore has the next waiter ask when the first one gives up", async () => {
  const place = new Place({ keep: 10 });
  Object.assign(place.line, { wakeup: undefined });
  const holder = await place.acquire();
  const first = await place.begin({ wait: 3_000 });
  const [second, third] = [await place.begin(), await place.begin()];
  await place.clock.advance(20);
  const stranger = await place.begin({}, place.memory);
  await place.clock.advance(2_980);
  assert(first.error !== undefined);
  await holder.release();
  await serve(place, [second, third, stranger]);
  await place.assertEmpty();
});

Deno.test("CohortStore does not wait for a first waiter that died", async () => {
  const place = new Place({ keep: 10 });
  const holder = await place.acquire();
  const dead = claimOf("a");
  await ask(place.cohort, dead);
  const waiters = [await place.begin(), await place.begin()];
  await place.clock.advance(10_000);
  const before = place.line.count("attempt");
  await place.clock.advance(5_000);
  const asked = place.line.count("attempt") - before;
  assert(asked >= 24 && asked <= 26, `the next one asks for both: ${asked} attempts`);
  await holder.release();
  await serve(place, waiters);
  await place.cohort.release(dead);
  await place.clock.advance(100);
  await place.assertEmpty();
});

Deno.test("CohortStore lets parked waiters know that the store fails, or does not answer", async () => {
  for (const fault of [lost, () => new Promise<never>(() => {})]) {
    const place = new Place({ keep: 10 });
    const { waiters } = await queueUp(place, 10);
    await place.clock.advance(2_000);
    place.line.down = fault;
    await place.clock.advance(25_000);
    for (const { error } of waiters) assert(error instanceof StoreError, `${error}`);
  }
});

Deno.test("CohortStore asks for a parked waiter that the store wakes", async () => {
  const place = new Place({ keep: 10 });
  const { holder, waiters } = await queueUp(place, 2);
  // It has left the queue of the store unnoticed, so that the next one is first there.
  const { pending: [first] } = await place.memory.query();
  await place.memory.release({ ...claimOf("a"), owner: first!.owner });
  await holder.release();
  await place.clock.advance(10);
  assert(waiters[1]!.lock?.held, "without a poll");
  await waiters[1]!.lock.release();
  await place.clock.advance(1_000);
  await (await waiters[0]!.promise).release();
  await place.assertEmpty();
});

Deno.test("CohortStore asks for parked waiters whose first one sleeps and never asks", async () => {
  const place = new Place({ keep: 10 });
  const holder = await place.acquire();
  const sleeper = claimOf("a");
  await ask(place.cohort, sleeper);
  const waiter = await place.begin();
  await place.clock.advance(20);
  await ask(place.cohort, sleeper);
  const over = new AbortController();
  void place.cohort.wakeup(sleeper, over.signal);
  await place.clock.advance(5_000);
  const before = place.line.count("attempt");
  await place.clock.advance(5_000);
  assert(place.line.count("attempt") - before >= 20, "every 200 ms");
  over.abort();
  await place.cohort.release(sleeper);
  await holder.release();
  await (await waiter.promise).release();
  await place.assertEmpty();
});
