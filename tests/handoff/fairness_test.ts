import { assert, assertEquals } from "@std/assert";
import type { AcquireOptions } from "@holdfast/lock";
import type { CohortOptions } from "@holdfast/lock/cohort";
import { LockConflictError } from "../../src/contract/errors.ts";
import { Random } from "../simulation/kernel/random.ts";
import { KINDS, type Process, Scene, slow } from "./scene.ts";

/** Handles that cannot share the lock of their process. */
const APART: readonly (readonly [what: string, options: AcquireOptions])[] = [
  ["a shared waiter", { mode: "shared" }],
  ["a waiter with an owner", { owner: "batch" }],
];

for (const [when, options] of KINDS) {
  for (const [what, apart] of APART) {
    Deno.test(`acquire() does not overtake ${what} of its process, ${when}`, async () => {
      const scene = new Scene();
      const here = scene.process(options);
      const first = await here.acquire();
      const { promise } = await here.wait("apart", apart);
      const released = first.release();
      const later = await here.section("later", 0);
      await released;
      await scene.clock.advance(10);
      await (await promise).release();
      await scene.clock.advance(1_000);
      await later.end;
      assertEquals(scene.served, ["apart", "later"]);
      await scene.assertEmpty();
    });

    Deno.test(`acquire() in a loop lets ${what} of its process in, ${when}`, async () => {
      const scene = new Scene();
      const here = scene.process(options);
      const first = await here.acquire();
      const { promise } = await here.wait("apart", apart);
      await first.release();
      const loop = (async () => {
        for (let sections = 0; !scene.served.includes("apart"); sections++) {
          assert(sections < 100, "100 sections came later and were served first");
          await (await here.acquire()).release();
        }
      })();
      await Promise.race([loop, scene.clock.advance(10)]);
      await (await promise).release();
      await scene.clock.advance(1_000);
      await loop;
      await scene.assertEmpty();
    });
  }
}

for (const [when, options] of KINDS) {
  Deno.test(`acquire() serves the handles of one process as they came, ${when}`, async () => {
    for (let seed = 0; seed < 300; seed++) {
      const scene = new Scene();
      const here = scene.process(options);
      const random = new Random(seed);
      const ends: Promise<void>[] = [];
      // Sections below `keep` and above it, and handles that come meanwhile: a process may change how it waits.
      for (let came = 0; came < 10; came++) {
        ends.push((await here.section(`${came}`, random.pick([5, 60]), {}, "b")).end);
        await scene.clock.advance(random.pick([0, 5, 60]));
      }
      await scene.clock.advance(2_000);
      await Promise.all(ends);
      assertEquals(scene.served, ends.map((_, came) => `${came}`), `seed ${seed}`);
      await scene.assertEmpty();
    }
  });
}

/** Has a task take the lock again and again, for a millisecond each time, until `done` returns true. */
async function again(scene: Scene, process: Process, first: AcquireOptions, done: () => boolean): Promise<void> {
  for (let options = first; !done(); options = {}) {
    const lock = options.wait === 0 ? await process.tryAcquire() : await process.acquire(options);
    if (lock === null) continue;
    await scene.clock.sleep(1);
    await lock.release();
  }
}

for (const [what, first] of [["acquire()", {}], ["tryAcquire()", { wait: 0 }]] as const) {
  for (const [when, options] of KINDS) {
    Deno.test(`${what} that begins a grant leaves a rival to wait one \`keep\`, ${when}`, async () => {
      const scene = new Scene();
      const { clock, rival } = scene;
      const here = scene.process(options);
      const came = clock.now().monotonic;
      let waited: number | undefined;
      const all = [first, {}, {}].map((how) => again(scene, here, how, () => waited !== undefined));
      all.push(
        rival.acquire().then((lock) => {
          waited = clock.now().monotonic - came;
          return lock.release();
        }),
      );
      await clock.advance(1_000);
      await Promise.all(all);
      // One section of each handle that was ahead of it, and one that began before `keep` was over.
      const limit = (options?.keep ?? 0) + 4;
      assert(waited !== undefined && waited <= limit, `it waited ${waited} ms`);
      await scene.assertEmpty();
    });
  }
}

/** Returns how many pairs were served in the other order than they came. */
function overtakes(served: readonly string[], came: readonly string[]): number {
  const places = served.map((label) => came.indexOf(label));
  return places.flatMap((place, i) => places.slice(i + 1).filter((later) => later < place)).length;
}

/** The number of overtakes among 24 handles of two processes that came in turn, with sections longer than `keep`. */
const LONG_SECTIONS: readonly (readonly [when: string, options: CohortOptions | undefined, most: number])[] = [
  ["by default", undefined, 0],
  ["with keep", { keep: 10 }, 4],
  ["with linger", { keep: 10, linger: 10 }, 4],
];

for (const [when, options, most] of LONG_SECTIONS) {
  for (const pause of [3_000, 17_000]) {
    Deno.test(`acquire() overtakes little in long sections, ${pause} ms idle, ${when}`, async () => {
      const scene = new Scene();
      const { clock, rival } = scene;
      const processes = [scene.process(options), scene.process(options)];
      const before = processes.flatMap((process) => [1, 2, 3, 4, 5, 6].map(() => process.section("before", 30)));
      await clock.advance(1_000);
      for (const { end } of await Promise.all(before)) await end;
      const holder = await rival.acquire();
      scene.served.length = 0;
      const came: string[] = [];
      const ends: Promise<void>[] = [];
      for (let i = 0; i < 24; i++) {
        ends.push((await processes[i % 2]!.section(`${i}`, 30, { lease: 10_000 })).end);
        came.push(`${i}`);
        await clock.advance(40);
      }
      await clock.advance(pause);
      await holder.release();
      await clock.advance(2_000);
      await Promise.all(ends);
      assert(overtakes(scene.served, came) <= most, `${overtakes(scene.served, came)} overtakes: ${scene.served}`);
      await scene.assertEmpty();
    });
  }
}

Deno.test("acquire() asks for itself as soon as a section has lasted `keep`, not at its end", async () => {
  const scene = new Scene();
  const { clock, server, rival } = scene;
  const here = scene.process({ keep: 10 });
  const before = await rival.acquire();
  const ends: Promise<void>[] = [];
  for (const [label, ms] of [["long", 200], ["1", 0], ["2", 0], ["3", 0]] as const) {
    ends.push((await here.section(label, ms)).end);
  }
  await before.release();
  await clock.advance(5);
  const waiting = async () => (await server.query()).pending.length;
  const asked = await waiting();
  await clock.advance(10);
  assertEquals([asked, await waiting()], [0, 3]);
  const newcomer = await rival.section("rival", 0);
  await clock.advance(1_000);
  await Promise.all([...ends, newcomer.end]);
  assertEquals(scene.served, ["long", "1", "2", "3", "rival"]);
  await scene.assertEmpty();
});

/** Makes each way to the store and back take so many milliseconds. */
const TRIP_MS = 5;

for (const [what, apart] of APART) {
  Deno.test(`acquire() with keep serves ${what} that asked alone, in its order`, async () => {
    const scene = new Scene();
    const { clock, rival, served } = scene;
    const here = scene.process({ keep: 10 });
    const before = await rival.acquire();
    here.line.fate = slow(clock, TRIP_MS);
    const ends: Promise<void>[] = [];
    for (const [label, options] of [["apart", apart], ["first", {}], ["second", {}], ["third", {}]] as const) {
      ends.push((await here.section(label, 30, options)).end);
      await clock.advance(1);
    }
    // From now on the one that came first waits. The next one that comes is not the first one behind it.
    await clock.advance(2 * TRIP_MS);
    ends.push((await here.section("last", 30)).end);
    await clock.advance(2 * TRIP_MS);
    await before.release();
    await Promise.all([...ends, clock.advance(1_000)]);
    assertEquals(served, ["apart", "first", "second", "third", "last"]);
    await scene.assertEmpty();
  });
}

Deno.test("tryAcquire() comes after sleepers behind a request that conflicts", async () => {
  const scene = new Scene();
  const { clock, rival, served } = scene;
  const here = scene.process({ keep: 1_000 });
  const before = await rival.acquire({ permits: 2 });
  here.line.fate = slow(clock, TRIP_MS);
  // The first one goes to the store alone, the second one asks for all that follow.
  const conflicts = [await here.wait("alone"), await here.wait("asks")];
  const { end } = await here.section("sleeps", 1);
  await clock.advance(TRIP_MS + 1);
  const trying = here.tryAcquire();
  await before.release();
  await clock.advance(TRIP_MS * 4);
  assertEquals(await trying, null);
  assertEquals(conflicts.map(({ error }) => error instanceof LockConflictError), [true, true]);
  await Promise.all([end, clock.advance(100)]);
  assertEquals(served, ["sleeps"]);
  await scene.assertEmpty();
});

Deno.test("tryAcquire() asks while all waiters of its process have asked", async () => {
  const scene = new Scene();
  const { clock, rival } = scene;
  const here = scene.process({ keep: 1_000 });
  const before = await rival.acquire({ permits: 2 });
  here.line.fate = slow(clock, TRIP_MS);
  await Promise.all([here.wait("alone"), here.wait("asks")]);
  await clock.advance(TRIP_MS + 1);
  // Both have been refused for good by now: the lock is free, and nobody waits for it.
  const trying = here.tryAcquire();
  await before.release();
  await clock.advance(TRIP_MS * 4);
  const lock = await trying;
  assert(lock !== null);
  await Promise.all([lock.release(), clock.advance(100)]);
  await scene.assertEmpty();
});
