// Deno only: it asks V8 for its garbage collector.
import { assert } from "@std/assert";
import { acquire, type Store } from "@holdfast/lock";
import { cohort } from "@holdfast/lock/cohort";
import { memory } from "@holdfast/lock/memory";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { DurableObjectStore } from "../src/stores/durable_object/store.ts";
import { claimOf } from "./support/claims.ts";
import { settled, VirtualClock } from "./support/virtual_clock.ts";
import { ObjectHost } from "./stores/durable_object/host.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** How many there are in a round. */
const ACQUISITIONS = 10_000;

/** How many rounds are measured, behind one that is not. */
const ROUNDS = 3;

/** By how much the heap may grow with each, in bytes: an object and the reference to it take more. */
const LIMIT_BYTES = 16;

/** How many locks are wanted at a time. */
const TASKS = 20;

/** Acquires and releases so many times; `name` gives the name of each. */
async function use(store: Store, count: number, name: (i: number) => string): Promise<void> {
  let i = 0;
  await Promise.all(Array.from({ length: TASKS }, async () => {
    while (i < count) await (await acquire(store, name(i++))).release();
  }));
}

/** Returns the size of the heap without garbage, in bytes, once no lock lingers any more. */
async function heap(store: Store): Promise<number> {
  while ((await store.query?.())?.held.length) await new Promise((resolve) => setTimeout(resolve, 1));
  for (let turn = 0; turn < 3; turn++) {
    await new Promise((resolve) => setTimeout(resolve));
    collectGarbage();
  }
  return Deno.memoryUsage().heapUsed;
}

/**
 * Returns the least by which the heap grows in a round, in bytes: what leaks does so in each, what V8 compiles on the
 * way stays once, and on a slow machine in a later one.
 */
async function leastGrowth(store: Store, round: (i: number) => Promise<void>): Promise<number> {
  const sizes: number[] = [];
  for (let i = 0; i <= ROUNDS; i++) {
    await round(i);
    sizes.push(await heap(store));
  }
  return Math.min(...sizes.slice(1).map((size, i) => size - sizes[i]!));
}

const STORES: Record<string, () => Store> = {
  "a store that hands on runs": () => memory(),
  "a cohort": () => cohort(memory()),
  "a cohort that lingers": () => cohort(memory(), { keep: 10, linger: 5 }),
};

const NAMES: Record<string, (i: number) => string> = {
  "one name": () => "a",
  "distinct names": (i) => `${i}`,
};

for (const [what, open] of Object.entries(STORES)) {
  for (const [which, name] of Object.entries(NAMES)) {
    Deno.test(`acquire() of ${which} on ${what} leaves nothing on the heap`, async () => {
      const store = open();
      const grown = await leastGrowth(
        store,
        (round) => use(store, ACQUISITIONS, (i) => name(ACQUISITIONS * round + i)),
      );
      assert(grown < LIMIT_BYTES * ACQUISITIONS, `${grown / ACQUISITIONS} bytes for each acquisition`);
    });
  }
}

Deno.test("revocation() on a Durable Object leaves nothing in the object", async () => {
  const clock = new VirtualClock();
  const host = new ObjectHost(clock);
  const store = new DurableObjectStore(host, undefined, clock);
  const watch = async (count: number) => {
    for (let i = 0; i < count; i++) {
      const over = new AbortController();
      const watching = store.revocation(claimOf("a"), over.signal);
      await settled();
      over.abort();
      await watching;
    }
    await settled();
    host.requests.length = 0;
  };
  const grown = await leastGrowth(store, () => watch(ACQUISITIONS / 5));
  assert(grown < 2 * LIMIT_BYTES * ACQUISITIONS / 5, `${grown / ACQUISITIONS * 5} bytes for each watch`);
});
