// Deno only: it takes long, and runs thousands of random histories.
import { assert } from "@std/assert";
import type { Observer, Store } from "@holdfast/lock";
import { checkCohortOptions } from "../../../src/cohort/options.ts";
import { HandoffCohort } from "../../../src/cohort/cohort.ts";
import { RedlockStore } from "../../../src/redlock/store.ts";
import { HandoffStore } from "../../../src/handoff/handoff_store.ts";
import { CasStore } from "../../../src/engine/store.ts";
import { MemoryStore } from "../../../src/stores/memory/store.ts";
import { Documents, memoryBackend } from "../../engine/memory_backend.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { Connection, type Fate } from "./connection.ts";
import { endsOnce, type Fixture, plansOf, type Times } from "./ends.ts";

const TIMES: Times = {
  end: 1_500,
  waits: [0, 0, 5, 300, 20_000, Infinity],
  leases: [50, 900, 10_000],
  holds: [0, 1, 100, 1_200, 12_000],
};

/** Longer than everything that a call can wait for, and its release, in milliseconds. */
const ALL_MS = 300_000;

const RUNS = 800;

/** Opens stores on a clock that is moved until all calls have ended. */
function virtually(
  make: (clock: VirtualClock, fates: readonly Fate[], observer: Observer) => Store,
): (fates: readonly Fate[], observer: Observer) => Fixture {
  return (fates, observer) => {
    const clock = new VirtualClock();
    return {
      store: make(clock, fates, observer),
      clock,
      pass: () => clock.advance(ALL_MS),
      timers: () => clock.pending,
    };
  };
}

const refused = () => Promise.reject(new Error("it is closed"));

/** Checks that the runs have ended in each of these ways. */
function checkCounts(counts: Map<string, number>, without: readonly string[] = []): void {
  for (const [what, count] of counts) assert(count > 0 || without.includes(what), `no call ends with ${what}`);
}

Deno.test("acquire() on memory ends in one event, whatever happens", async () => {
  const open = virtually((clock, fates, observer) => {
    return new Connection(new MemoryStore(undefined, clock), clock, fates, observer);
  });
  checkCounts(await endsOnce(plansOf(TIMES, { shared: true, faults: true }), RUNS, open));
});

Deno.test("acquire() on runs ends in one event, and has no other", async () => {
  const open = virtually((clock, fates, observer) => {
    return new HandoffStore(new Connection(new MemoryStore(undefined, clock), clock, fates, observer), clock);
  });
  checkCounts(await endsOnce(plansOf(TIMES, { shared: true, faults: true }), RUNS, open));
});

for (const kind of ["with a clock", "without a clock"]) {
  Deno.test(`acquire() on cas() ${kind} ends in one event, whatever happens`, async () => {
    const open = virtually((clock, fates, observer) => {
      const time = kind === "with a clock" ? () => clock.now().wall : undefined;
      const settings = { maxClockSkew: 10_000, observer: undefined };
      const store = new CasStore(memoryBackend(new Documents(), { clock: time }), settings, clock);
      return new Connection(store, clock, fates, observer);
    });
    checkCounts(await endsOnce(plansOf(TIMES, { shared: true, faults: true }), RUNS, open));
  });
}

for (const [what, options] of [["runs", undefined], ["a cohort", { keep: 200, linger: 50 }]] as const) {
  Deno.test(`acquire() on ${what} of cas() leaves no timer if the store fails at the end`, async () => {
    const open = (_: readonly Fate[], observer: Observer): Fixture => {
      const clock = new VirtualClock();
      const backend = memoryBackend(new Documents(), { clock: () => clock.now().wall });
      const { read, write } = backend;
      let fails = false;
      backend.read = async (...args) => fails ? await refused() : await read(...args);
      backend.write = async (...args) => fails ? await refused() : await write(...args);
      const engine = new CasStore(backend, { maxClockSkew: 10_000, observer }, clock);
      const store = options === undefined
        ? new HandoffStore(engine, clock)
        : new HandoffCohort(engine, clock, checkCohortOptions(options));
      const pass = async (all: Promise<unknown>) => {
        const ended = all.then(() => fails = true);
        await clock.advance(ALL_MS);
        await ended;
      };
      return { store, clock, pass, timers: () => clock.pending };
    };
    // All want the lock at once, and wait: it is handed on.
    const crowd = { ...TIMES, end: 50, waits: [20_000, Infinity] };
    await endsOnce(plansOf(crowd, { shared: false, faults: false }), RUNS / 4, open);
  });
}

for (const options of [{}, { keep: 200, linger: 50 }]) {
  Deno.test(`acquire() on cohort ${JSON.stringify(options)} ends in one event, and has no other`, async () => {
    const open = virtually((clock, fates, observer) => {
      const store = new Connection(new MemoryStore(undefined, clock), clock, fates, observer);
      return new HandoffCohort(store, clock, checkCohortOptions(options));
    });
    checkCounts(await endsOnce(plansOf(TIMES, { shared: true, faults: true }), RUNS, open));
  });
}

Deno.test("acquire() on redlock ends in one event, and has no other", async () => {
  const open = virtually((clock, fates, observer) => {
    const nodes = [0, 1, 2].map(() => new MemoryStore(observer, clock));
    const settings = { nodeTimeout: undefined, maxClockSkew: 10_000, driftFactor: 0.01, observer };
    return new Connection(new RedlockStore(nodes, settings, clock, () => 0.5), clock, fates, observer);
  });
  const counts = await endsOnce(plansOf(TIMES, { shared: false, faults: true }), RUNS / 4, open);
  checkCounts(counts, ["gave_up conflict", "lost revoked", "lost missing"]);
});
