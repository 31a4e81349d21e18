import { elapsed, type Instant } from "../../internal/clock.ts";
import { ShortLivedMap } from "../../internal/short_lived.ts";
import { type Claim, handleOf } from "../../store.ts";

/** The longest time between two attempts of a local waiter, in milliseconds. They cost no request. */
export const RETRY_MS = 1_000;

/** A waiter that has neither slept nor asked for so many milliseconds is dead. */
export const DEAD_MS = 3 * RETRY_MS;

/** A handle of this process that waits in the local queue. */
export class LocalWaiter {
  readonly claim: Claim;
  /** When it asked for the first time. */
  readonly since: Instant;
  /** When it last asked. */
  asked: Instant;
  /** How many of its attempts wait for the answer of the store. */
  attempting = 0;
  /** How a request of the cohort failed while it slept. */
  fault: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  /** Makes a waiter that asks at that moment. */
  constructor(claim: Claim, asked: Instant) {
    this.claim = claim;
    this.since = this.asked = asked;
  }

  /** Whether it will notice at once that it is its turn, or asked not long ago. */
  isAlive(now: Instant): boolean {
    return this.attempting > 0 || this.#wake !== undefined || elapsed(this.asked, now) < DEAD_MS;
  }

  /** Ends its sleep. */
  wake(): void {
    this.#wake?.();
  }

  /** Resolves when it is woken, or the signal aborts; at once if `already` is true. */
  sleep(signal: AbortSignal, already: boolean): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        signal.removeEventListener("abort", done);
        if (this.#wake === done) this.#wake = undefined;
        resolve();
      };
      if (already || signal.aborted) return done();
      signal.addEventListener("abort", done);
      this.#wake = done;
    });
  }
}

/** The handles of this process that want one lock and have no place of their own in the store, first come, first served. */
export class LocalQueue implements Iterable<LocalWaiter> {
  readonly #waiters = new ShortLivedMap<string, LocalWaiter>();

  /** How many there are, dead ones too. */
  get size(): number {
    return this.#waiters.size;
  }

  /** Returns the waiters, in order. */
  [Symbol.iterator](): Iterator<LocalWaiter> {
    return this.#waiters.values()[Symbol.iterator]();
  }

  /** Returns the waiter of a handle. */
  get(handle: string): LocalWaiter | undefined {
    return this.#waiters.get(handle);
  }

  /** Puts a waiter at the end. */
  add(waiter: LocalWaiter): void {
    this.#waiters.set(handleOf(waiter.claim), waiter);
  }

  /** Removes a waiter. Returns whether it was there. */
  delete(waiter: LocalWaiter): boolean {
    const id = handleOf(waiter.claim);
    return this.#waiters.get(id) === waiter && this.#waiters.delete(id);
  }

  /** Returns the first waiter that is alive. */
  first(now: Instant): LocalWaiter | undefined {
    if (this.#waiters.size === 0) return undefined;
    for (const waiter of this.#waiters.values()) if (waiter.isAlive(now)) return waiter;
    return undefined;
  }

  /** Removes the dead waiters. */
  prune(now: Instant): void {
    for (const waiter of [...this]) if (!waiter.isAlive(now)) this.delete(waiter);
  }

  /** Has the next attempt of each waiter fail, but of those that wait for an answer of the store and get it from there. */
  fail(error: unknown, informed?: LocalWaiter): void {
    for (const waiter of this) {
      if (waiter === informed || waiter.attempting > 0) continue;
      waiter.fault = { error };
      waiter.wake();
    }
  }
}
