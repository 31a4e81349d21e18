import { type Clock, SystemClock } from "./clock.ts";
import { checkEvict, type EvictTarget } from "./eviction.ts";
import type { Runs } from "./runs.ts";
import { ShortLivedSet } from "./short_lived.ts";
import type { Claim, EvictOptions, Snapshot, Store } from "../store.ts";

/** A lease that this process holds. */
export interface HeldLease {
  /** What was granted. */
  readonly claim: Claim;
  /** Whether it is held at this moment. */
  readonly held: boolean;
}

/** What this process keeps beside a store. */
interface StoreState {
  readonly clock: Clock;
  readonly leases: ShortLivedSet<HeldLease>;
  /** Hands its locks on inside this process, if it grants runs. */
  runs: Runs | undefined;
}

/**
 * The state of each store. A store is an interface that anybody may implement, so that the state cannot be a field of
 * it; and two calls on the same store must see the same state. It is garbage when its store is.
 */
const states = new WeakMap<Store, StoreState>();

function stateOf(store: Store): StoreState {
  const known = states.get(store);
  if (known !== undefined) return known;
  const state: StoreState = { clock: new SystemClock(), leases: new ShortLivedSet<HeldLease>(), runs: undefined };
  states.set(store, state);
  return state;
}

/** Notes what hands on the locks of a store, and returns it. What a caller finds through the one, it finds through it. */
export function registerRuns(store: Store, runs: Runs): Store {
  const state = stateOf(store);
  state.runs ??= runs;
  states.set(state.runs, state);
  return state.runs;
}

/** Returns what hands on the locks of a store, if anything does. */
export function runsOf(store: Store): Store | undefined {
  return states.get(store)?.runs;
}

/** Has this process hand on a lock of a store no more: it was revoked. */
export function endRuns(store: Store, name: string): void {
  states.get(store)?.runs?.end(name);
}

/**
 * Checks the options of `evict()`, and returns them with the handle that the store has for the one that this process lists;
 * `undefined` if the handle that is named has handed the lock on.
 */
export function evictTarget(store: Store, name: string, options: EvictOptions | undefined): EvictTarget | undefined {
  const target = checkEvict(options);
  const runs = states.get(store)?.runs;
  return runs === undefined ? target : runs.target(name, target);
}

/** Returns a snapshot of a store with the handles that have the locks in this process, and wait for them. */
export function showRuns(store: Store, snapshot: Snapshot): Snapshot {
  return states.get(store)?.runs?.show(snapshot) ?? snapshot;
}

/** Returns the clock of a store. Each has its own: where timers belong to a request, so do the clients of its stores. */
export function clockOf(store: Store): Clock {
  return stateOf(store).clock;
}

/** Returns the leases that this process holds from a store, to be added to and deleted from. */
export function leasesOf(store: Store): ShortLivedSet<HeldLease> {
  return stateOf(store).leases;
}

/** Returns whether a handle of this process, made with the same store, holds a lock. */
export function isHeldHere(store: Store, name: string): boolean {
  return [...leasesOf(store)].some(({ claim, held }) => claim.name === name && held);
}
