import { clockOf } from "../../../src/lock/lease/held_leases.ts";
import { HandoffStore } from "../../../src/handoff/handoff_store.ts";
import type { Clock } from "../../../src/time/clock.ts";
import { HandoffCohort } from "../../../src/cohort/cohort.ts";
import type { Store } from "../../../src/contract/store.ts";
import { MemoryStore } from "../../../src/stores/memory/store.ts";
import type { Branches } from "../kernel/branches.ts";
import type { Connection } from "./connection.ts";

/**
 * How a process hands a lock on: not at all, as every store does by itself, or as `cohort()` with these options does.
 */
export type HandoffKind = "none" | "default" | { readonly keep: number; readonly linger: number };

/** The stores of one process: what its tasks acquire locks from. */
export interface Stores {
  /** What most of them use. */
  readonly store: Store;
  /** What it was made of. */
  readonly target: Store;
  /** Disposes of `store`, if that can be done. */
  readonly dispose?: (() => Promise<void>) | undefined;
  /** Returns how many names `store` keeps something of. */
  readonly kept: () => number;
}

/** Makes the true server, on a clock: a store in memory that hands nothing on. */
export function makeServer(clock: Clock): MemoryStore {
  return new MemoryStore(undefined, clock);
}

/** Has all that is acquired from a store happen on a clock. */
export function onClock<S extends Store>(store: S, clock: Clock): S {
  const { now, timer, sleep } = clock;
  Object.assign(clockOf(store), { now: now.bind(clock), timer: timer.bind(clock), sleep: sleep.bind(clock) });
  return store;
}

/** The options of another cohort of a process. */
const BESIDE = { keep: 10, linger: 0 } as const;

/** What hands locks on: the shipped classes, or such whose branches are counted. */
export interface Mechanism {
  readonly HandoffStore: typeof HandoffStore;
  readonly HandoffCohort: typeof HandoffCohort;
}

/** Loads what hands locks on, with its branches counted. */
export async function countedMechanism(branches: Branches): Promise<Mechanism> {
  const isCounted = (path: string) => path.startsWith("handoff/");
  // The cohort is made of what is counted.
  const load = branches.count((path) => isCounted(path) || path === "cohort/cohort.ts", isCounted);
  return {
    ...await load<Pick<Mechanism, "HandoffStore">>("handoff/handoff_store.ts"),
    ...await load<Pick<Mechanism, "HandoffCohort">>("cohort/cohort.ts"),
  };
}

/** Makes the stores of a process on its connection. All that knows how handing on is built is in this file. */
export function makeStores(
  connection: Connection,
  clock: Clock,
  handoff: HandoffKind,
  bare: boolean,
  mechanism: Mechanism = { HandoffStore, HandoffCohort },
): Stores {
  onClock(connection, clock);
  const { HandoffCohort: Cohort } = mechanism;
  if (bare && typeof handoff !== "string") {
    const [store, target] = [handoff, BESIDE].map((each) => onClock(new Cohort(connection, clock, each), clock));
    return {
      store: store!,
      target: target!,
      dispose: () => store![Symbol.asyncDispose](),
      kept: () => store!.names.length,
    };
  }
  if (handoff === "none") return { store: connection, target: connection, kept: () => 0 };
  const target = onClock(new mechanism.HandoffStore(connection, clock), clock);
  if (handoff === "default") return { store: target, target, kept: () => target.names.length };
  const store = onClock(new Cohort(connection, clock, handoff, target.place), clock);
  return { store, target, dispose: () => store[Symbol.asyncDispose](), kept: () => store.names.length };
}
