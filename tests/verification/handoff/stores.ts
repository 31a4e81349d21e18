import { clockOf } from "../../../src/internal/lease/held_leases.ts";
import { HandoffStore } from "../../../src/internal/handoff/handoff_store.ts";
import type { Clock } from "../../../src/internal/time/clock.ts";
import { HandoffCohort } from "../../../src/composed/cohort/cohort.ts";
import type { Store } from "../../../src/store.ts";
import { MemoryStore } from "../../../src/stores/memory/store.ts";
import type { Connection } from "./connection.ts";

/** How a process hands a lock on: not at all, as every store does by itself, or as `cohort()` with these options does. */
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

/** Makes the stores of a process on its connection. All that knows how handing on is built is in this file. */
export function makeStores(connection: Connection, clock: Clock, handoff: HandoffKind): Stores {
  onClock(connection, clock);
  if (handoff === "none") return { store: connection, target: connection, kept: () => 0 };
  const target = onClock(new HandoffStore(connection, clock), clock);
  if (handoff === "default") return { store: target, target, kept: () => target.names.length };
  const store = onClock(new HandoffCohort(connection, clock, handoff, target), clock);
  return { store, target, dispose: () => store[Symbol.asyncDispose](), kept: () => store.names.length };
}
