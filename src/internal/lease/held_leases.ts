import { type Clock, SystemClock } from "../time/clock.ts";
import { ShortLivedSet } from "../process/short_lived.ts";
import { type Renewable, RenewalLoop } from "./renewal_loop.ts";
import type { Claim, Store } from "../../store.ts";

/** A lease that this process holds. */
export interface HeldLease extends Renewable {
  /** The claim that was granted. */
  readonly claim: Claim;
  /** Whether it is held at this moment. */
  readonly held: boolean;
}

/** The leases that this process holds from one store. */
export class HeldLeases {
  readonly #leases = new ShortLivedSet<HeldLease>();
  /** Runs from the first renewal on, until none is held: short holds pay nothing for it. */
  #loop: RenewalLoop | undefined;

  /** Adds a lease that was granted. */
  add(lease: HeldLease): void {
    this.#leases.add(lease);
  }

  /** Removes a lease that has ended. */
  delete(lease: HeldLease): void {
    this.#leases.delete(lease);
    if (this.#leases.size > 0) return;
    this.#loop?.end();
    this.#loop = undefined;
  }

  /** Renews a lease that is due now. */
  renew(lease: HeldLease): void {
    this.#loop ??= new RenewalLoop();
    this.#loop.add(lease);
  }

  [Symbol.iterator](): Iterator<HeldLease> {
    return this.#leases[Symbol.iterator]();
  }
}

/** The state that this process keeps for a store. */
interface StoreState {
  readonly clock: Clock;
  readonly leases: HeldLeases;
}

/**
 * The state of each store. A store is an interface that anybody may implement, so that the state cannot be a field of
 * it; and two calls on the same store must see the same state. It is garbage when its store is.
 */
const states = new WeakMap<Store, StoreState>();

function stateOf(store: Store): StoreState {
  const known = states.get(store);
  if (known !== undefined) return known;
  const state: StoreState = { clock: new SystemClock(), leases: new HeldLeases() };
  states.set(store, state);
  return state;
}

/** Returns the clock of a store. Each has its own: where timers belong to a request, so do the clients of its stores. */
export function clockOf(store: Store): Clock {
  return stateOf(store).clock;
}

/** Returns the leases that this process holds from a store. */
export function leasesOf(store: Store): HeldLeases {
  return stateOf(store).leases;
}

/** Returns whether a handle of this process, made with the same store, holds a lock. */
export function isHeldHere(store: Store, name: string): boolean {
  return [...leasesOf(store)].some(({ claim, held }) => claim.name === name && held);
}
