import { type Clock, SystemClock } from "../time/clock.ts";
import { ShortLivedSet } from "../process/short_lived.ts";
import type { Claim, Store } from "../../store.ts";

/** A lease that this process holds. */
export interface HeldLease {
  /** The claim that was granted. */
  readonly claim: Claim;
  /** Whether it is held at this moment. */
  readonly held: boolean;
}

/** The state that this process keeps for a store. */
interface StoreState {
  readonly clock: Clock;
  readonly leases: ShortLivedSet<HeldLease>;
}

/**
 * The state of each store. A store is an interface that anybody may implement, so that the state cannot be a field of
 * it; and two calls on the same store must see the same state. It is garbage when its store is.
 */
const states = new WeakMap<Store, StoreState>();

function stateOf(store: Store): StoreState {
  const known = states.get(store);
  if (known !== undefined) return known;
  const state: StoreState = { clock: new SystemClock(), leases: new ShortLivedSet<HeldLease>() };
  states.set(store, state);
  return state;
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
