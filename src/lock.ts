import type { Clock } from "./_clock.ts";
import { giveUp, RELEASE_LIMIT, within } from "./_give_up.ts";
import { LockLostError, StoreError } from "./errors.ts";
import type { Lease } from "./lease.ts";
import { tell } from "./observer.ts";
import type { Mode, Store } from "./store.ts";

/**
 * A lock that is held, until it is released or lost. Made by `acquire` and `tryAcquire`.
 *
 * A lease can end while its holder is paused or cut off, and no holder can know that before it runs again. Two members
 * are there for this: `signal` aborts no later than the moment when somebody else could get the lock, unless that takes
 * it away with `steal` or `evict`, and `fence` lets the resource refuse a holder that comes too late.
 *
 * @example
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * await using lock = await acquire(memory(), "invoice:42");
 * console.log(lock.name, lock.held, lock.fence > 0n); // invoice:42 true true
 * ```
 */
export interface Lock extends AsyncDisposable {
  /** The name that was acquired. */
  readonly name: string;
  /** How it is held. */
  readonly mode: Mode;
  /**
   * Who holds it in the store: the `owner` that was given, alike for all of its handles, or else a UUID of this handle
   * alone, which cannot be given as `owner` to enter the lock again.
   */
  readonly owner: string;
  /**
   * The fencing token: larger than that of everybody who held this name before. Pass it to the resource that the lock
   * protects, and let the resource refuse a number smaller than the largest it has seen.
   */
  readonly fence: bigint;
  /** Aborts with a {@linkcode LockLostError} when the lock is lost; not when it is released. */
  readonly signal: AbortSignal;
  /** Whether the lock is neither released nor lost, by this machine's clock at this moment. */
  readonly held: boolean;
  /** Milliseconds until the lease ends unless it is renewed before; 0 when the lock is not held. */
  remaining(): number;
  /**
   * Renews now, for `lease` milliseconds from now on (10 to 2³¹ − 1; the lease as it is when left out). Later renewals
   * use the new lease too.
   *
   * @throws {LockLostError} when the lock is lost or released
   * @throws {StoreError} when the store did not answer; the lock is held as long as it was before, or shorter if
   * `lease` was
   * @throws {RangeError} when `lease` is out of range, or no longer than the `renew` interval
   */
  extend(lease?: number): Promise<void>;
  /**
   * Gives up the lock. A second call gives the same promise.
   *
   * @throws {LockLostError} when the lock was lost before: what ran under it was not protected to the end
   * @throws {StoreError} when the store could not be reached for 5 s; the lock then ends with its lease
   */
  release(): Promise<void>;
  /**
   * Releases at the end of an `await using` scope. Rejects with {@linkcode LockLostError} when the lock was lost, unless
   * `strict: false` was given; a store that cannot be reached does not fail it. After `release()` it does nothing more.
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The lock that a lease keeps. */
export class LeasedLock implements Lock {
  readonly fence: bigint;
  readonly #store: Store;
  readonly #lease: Lease;
  readonly #clock: Clock;
  readonly #strict: boolean;
  #releasing: Promise<void> | undefined;

  /** Wraps a lease that has just begun. */
  constructor(store: Store, lease: Lease, fence: bigint, strict: boolean, clock: Clock) {
    this.#store = store;
    this.#lease = lease;
    this.fence = fence;
    this.#strict = strict;
    this.#clock = clock;
  }

  get name(): string {
    return this.#lease.claim.name;
  }

  get mode(): Mode {
    return this.#lease.claim.mode;
  }

  get owner(): string {
    return this.#lease.claim.owner;
  }

  get signal(): AbortSignal {
    return this.#lease.signal;
  }

  get held(): boolean {
    return this.#lease.held;
  }

  remaining(): number {
    return this.#lease.remaining;
  }

  extend(lease?: number): Promise<void> {
    return this.#lease.extend(lease);
  }

  release(): Promise<void> {
    if (this.#releasing !== undefined) return this.#releasing;
    // A loss that is noticed only now aborts the signal, and whoever hears that may call release() as well.
    const { lost } = this.#lease;
    return this.#releasing ??= this.#release(lost);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Whoever called release() has heard how it ended.
    if (this.#releasing !== undefined) return await this.#releasing.catch(() => {});
    try {
      await this.release();
    } catch (error) {
      // The body ran protected if only the release failed: that must not throw its result away.
      if (this.#strict && error instanceof LockLostError) throw error;
    }
  }

  async #release(lost: LockLostError | undefined): Promise<void> {
    // Sent first: the rest is done while it is on its way.
    const given = this.#giveBack(lost);
    const late = () => new StoreError(`Cannot release lock "${this.name}" within ${RELEASE_LIMIT} ms: no answer`);
    const settled = within(RELEASE_LIMIT, given, late, this.#clock);
    this.#lease.end();
    await settled;
  }

  async #giveBack(lost: LockLostError | undefined): Promise<void> {
    const lease = this.#lease;
    const { claim } = lease;
    // A renewal that overtook the release could take the lock again on a store that had forgotten it.
    if (lease.renewing !== undefined && lost === undefined) await lease.renewing;
    const given = giveUp(this.#store, claim, this.#clock);
    if (lost !== undefined) {
      // Whatever is left of it in the store is given up as well, but there is nothing to wait for.
      given.catch(() => {});
      throw lost;
    }
    if (!await given) {
      const stolen = lease.disown();
      if (stolen !== undefined) throw stolen;
    }
    if (this.#store.observer !== undefined) {
      tell(this.#store.observer, { type: "released", name: claim.name, owner: claim.owner });
    }
  }
}
