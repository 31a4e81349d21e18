import { assertEquals } from "@std/assert";
import type { Store } from "@holdfast/lock";
import { Place } from "./place.ts";

const SECTION_MS = 1;
const ROUNDS = 10;

/** The longest wait of a lone waiter of another process, and of the tasks, in milliseconds. */
interface Waits {
  readonly lone: number;
  readonly tasks: number;
}

/** Has so many tasks of each store want one lock all the time, beside a lone waiter of another process. */
async function contend(place: Place, stores: readonly Store[], tasks: number): Promise<Waits> {
  const longest = { lone: 0, tasks: 0 };
  let done = 0;
  const section = async (side: keyof Waits, store: Store) => {
    const began = place.clock.now().monotonic;
    const lock = await place.acquire({}, store);
    // Once the first task has finished, fewer of them compete.
    if (done === 0) longest[side] = Math.max(longest[side], place.clock.now().monotonic - began);
    await place.clock.sleep(SECTION_MS);
    await lock.release();
  };
  const task = async (store: Store) => {
    for (let i = 0; i < ROUNDS; i++) await section("tasks", store);
    done++;
  };
  const lone = async () => {
    while (done === 0) await section("lone", place.memory);
  };
  const all = Promise.all([...stores.flatMap((store) => Array.from({ length: tasks }, () => task(store))), lone()]);
  let ended = false;
  void all.then(() => ended = true);
  while (!ended) await place.clock.advance(5);
  await place.assertEmpty();
  return longest;
}

/** Returns the waits in strict order, and with a cohort in each of the processes. */
async function compare(processes: number, tasks: number): Promise<[strict: Waits, cohorts: Waits]> {
  const strict = new Place();
  const place = new Place({ keep: 10 });
  const others = Array.from({ length: processes - 1 }, () => place.another({ keep: 10 }));
  return [
    await contend(strict, Array.from({ length: processes }, () => strict.memory), tasks),
    await contend(place, [place.cohort, ...others], tasks),
  ];
}

// docs/many_handles.md has these figures.
for (
  const [processes, tasks, strict, cohorts] of [
    [1, 2, { lone: 2, tasks: 2 }, { lone: 11, tasks: 2 }],
    [4, 32, { lone: 128, tasks: 128 }, { lone: 41, tasks: 155 }],
  ] as const
) {
  Deno.test(`cohort() with ${tasks} tasks in ${processes} processes has the documented waits`, async () => {
    assertEquals(await compare(processes, tasks), [strict, cohorts]);
  });
}
