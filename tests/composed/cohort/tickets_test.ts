import { assert, assertEquals } from "@std/assert";
import type { Store } from "@holdfast/lock";
import { settled } from "../../support/virtual_clock.ts";
import { Place } from "./place.ts";

const SECTION_MS = 15;

/** Has ten tasks of a process and seven strangers each work `rounds` times. Returns the longest wait of each side. */
async function contend(place: Place, store: Store, section: number, rounds: number): Promise<[number, number]> {
  const longest: [number, number] = [0, 0];
  const task = async (side: 0 | 1, own: Store) => {
    for (let i = 0; i < rounds; i++) {
      const began = place.clock.now().monotonic;
      const lock = await place.acquire({}, own);
      longest[side] = Math.max(longest[side], place.clock.now().monotonic - began);
      await place.clock.sleep(section);
      await lock.release();
    }
  };
  const tasks = [
    ...Array.from({ length: 10 }, () => task(0, store)),
    ...Array.from({ length: 7 }, () => task(1, place.memory)),
  ];
  let done = false;
  const all = Promise.all(tasks).then(() => done = true);
  while (!done) await place.clock.advance(100);
  await all;
  return longest;
}

Deno.test("CohortStore does not let its waiters fall behind where sections are long", async () => {
  const strangers = new Place();
  const plain = await contend(strangers, strangers.memory, SECTION_MS, 5);
  const place = new Place({ keep: 10 });
  const own = await contend(place, place.cohort, SECTION_MS, 5);
  // At the first round it is not known yet how long sections are.
  assert(own[0] <= plain[0] + 3 * SECTION_MS, `${own[0]} ms instead of ${plain[0]}`);
  assert(own[1] <= plain[1] + 3 * SECTION_MS, `${own[1]} ms instead of ${plain[1]}`);
  await place.assertEmpty();
});

Deno.test("CohortStore keeps a stranger waiting for keep and a section at most", async () => {
  const place = new Place({ keep: 10 });
  const own = await contend(place, place.cohort, 1, 50);
  // Seven strangers, each with a section of its own, and a turn of the process between any two of them.
  assert(own[1] <= 7 + 8 * (10 + 1 + 1), `${own[1]} ms`);
  await place.assertEmpty();
});

Deno.test("CohortStore keeps the order of waiters that take tickets of their own", async () => {
  const place = new Place({ keep: 10 });
  const first = await place.acquire();
  const waiters = [await place.begin(), await place.begin(), await place.begin()];
  await place.clock.advance(10);
  const { pending } = await place.memory.query();
  assertEquals(pending.length, 3, "as soon as the section is known to be long");
  const stranger = await place.begin({}, place.memory);
  await first.release();
  for (const waiter of [...waiters, stranger]) {
    const lock = await waiter.promise;
    for (const other of [...waiters, stranger]) assertEquals(other.lock?.held === true, other === waiter);
    await lock.release();
  }
  await place.assertEmpty();
});

Deno.test("CohortStore has waiters take tickets at once where sections are long", async () => {
  const place = new Place({ keep: 10 });
  const first = await place.acquire();
  const second = await place.begin();
  await place.clock.advance(20);
  await first.release();
  await settled();
  const third = await place.begin();
  assertEquals((await place.memory.query()).pending.length, 1);
  await second.lock!.release();
  await (await third.promise).release();
  await place.assertEmpty();
});

Deno.test("CohortStore shares again once sections are short", async () => {
  const place = new Place({ keep: 10 });
  const run = async (ms: number) => {
    const lock = await place.acquire();
    const waiter = await place.begin();
    await place.clock.advance(ms);
    await lock.release();
    const next = await waiter.promise;
    await place.clock.advance(ms);
    await next.release();
  };
  await run(20);
  const before = place.line.count("attempt");
  for (let i = 0; i < 10; i++) await run(1);
  assert(place.line.count("attempt") - before < 20);
  await place.assertEmpty();
});

Deno.test("CohortStore does not overtake a shared waiter of its own process", async () => {
  const place = new Place({ keep: 60_000 });
  const first = await place.acquire();
  const before = await place.begin();
  const reader = await place.begin({ mode: "shared" });
  const after = await place.begin();
  await first.release();
  await (await before.promise).release();
  const shared = await reader.promise;
  assertEquals(after.lock, undefined);
  await shared.release();
  await (await after.promise).release();
  await place.assertEmpty();
});
