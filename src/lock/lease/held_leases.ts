import { calledOrAborted } from "../../time/aborted.ts";
import { type Clock, SystemClock } from "../../time/clock.ts";
import { ShortLivedSet } from "../../time/short_lived.ts";
import type { Claim, Store } from "../../contract/store.ts";
import { LockTimeoutError } from "../../contract/errors.ts";
import { reason } from "../../internal/reason.ts";

export interface HeldLease {
  readonly claim: Claim;
  readonly held: boolean;
  /** Sends a renewal, if the lease still wants one. */
  renew(): void;
}

/**
 * The leases that this process holds from one store, and the interval at which they are renewed. All leases share one
 * interval: ten thousand would otherwise need ten thousand timers, and leases that are due together are renewed
 * together.
 */
export class HeldLeases extends ShortLivedSet<HeldLease> {
  readonly #due: HeldLease[] = [];
  /** Ends the interval, which goes on from the first renewal until no lease is held: short holds never start it. */
  #ended: AbortController | undefined;
  #wake: (() => void) | undefined;

  override delete(lease: HeldLease): boolean {
    const known = super.delete(lease);
    if (this.size === 0) {
      // A reason of our own: the default is an error with a stack.
      this.#ended?.abort("ended");
      this.#ended = undefined;
    }
    return known;
  }

  /** Renews a lease that is due now. */
  renew(lease: HeldLease): void {
    this.#due.push(lease);
    this.#wake?.();
    if (this.#ended === undefined) void this.#renewUntil((this.#ended = new AbortController()).signal);
  }

  /** Renews the leases that are due together, again and again, until the signal aborts. */
  async #renewUntil(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await calledOrAborted(signal, (wake) => this.#due.length > 0 ? wake() : this.#wake = wake);
      // In one step: the client can send them in one write. No answer is awaited: a store may hang for longer than the
      // other leases last.
      for (const lease of this.#due.splice(0)) lease.renew();
    }
  }
}

interface StoreState {
  readonly clock: Clock;
  readonly leases: HeldLeases;
}

/**
 * The state of each store. Anybody may implement a store, so that the state cannot be its field; and two calls on the
 * same store must see the same state. The state becomes garbage with its store.
 */
const states = new WeakMap<Store, StoreState>();

function stateOf(store: Store): StoreState {
  const known = states.get(store);
  if (known !== undefined) return known;
  const state: StoreState = { clock: new SystemClock(), leases: new HeldLeases() };
  states.set(store, state);
  return state;
}

/** Returns the clock of a store: where timers belong to a request, so do the clients of its stores. */
export function clockOf(store: Store): Clock {
  return stateOf(store).clock;
}

export function leasesOf(store: Store): HeldLeases {
  return stateOf(store).leases;
}

/** Returns whether a handle of this process, made with the same store, holds a lock. */
export function isHeldHere(store: Store, name: string): boolean {
  return [...leasesOf(store)].some(({ claim, held }) => claim.name === name && held);
}

/** Creates the error for a lock that another handle holds, perhaps a handle of this process. */
export function timeoutError(store: Store, name: string, what: string, fault?: unknown): LockTimeoutError {
  const advice = "; if this call is nested in the holder's, give both the same owner";
  const hint = store.capabilities?.includes("owner") ? advice : "";
  const holder = isHeldHere(store, name) ? `this process${hint}` : "another owner";
  if (fault === undefined) return new LockTimeoutError(`${what}: held by ${holder}`);
  const since = `${what}: held by ${holder} when the store last answered, since then: ${reason(fault)}`;
  return new LockTimeoutError(since, { cause: store.connectionError ?? fault });
}
