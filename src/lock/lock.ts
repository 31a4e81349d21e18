import type { Clock, Instant } from "../time/clock.ts";
import { storeError } from "../internal/failure.ts";
import { LATE, numbered, RELEASE_LIMIT_MS, releaseWithRetry, resized, within } from "../contract/release.ts";
import { makeInspectable } from "../internal/listing/inspectable.ts";
import { warnOnce } from "../internal/process/warning.ts";
import { LockLostError } from "../contract/errors.ts";
import type { Lease } from "./lease.ts";
import { isObserved, notify } from "../internal/process/notify.ts";
import { MIN_LEASE_MS, type Settings } from "./options.ts";
import type { Mode, Store } from "../contract/store.ts";

/**
 * A lock that is held, until it is released or lost. Made by `acquire` and `tryAcquire`.
 *
 * A lease can end while its holder is paused or cut off, and no holder can know that before it runs again. Two members
 * are there for this. `signal` aborts no later than the moment at which another owner could be granted the lock (except
 * by `steal` and `evict`). `fence` lets the resource refuse a holder that comes too late.
 *
 * If the handle becomes garbage while the lock is held, nobody can release the lock: it is renewed until the process
 * ends. The process is warned once (`HoldfastWarning`), unless the `signal` was read.
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
  /** How the lock is held. */
  readonly mode: Mode;
  /** The `permits` option: `undefined` for a lock that is no semaphore. */
  readonly permits: number | undefined;
  /**
   * The owner in the store: the `owner` option, the same for all of its handles, or else a UUID of this handle alone,
   * which cannot be passed as `owner` to re-enter the lock. The servers of a Redlock store it with a colon and the id
   * of a round of votes behind it.
   */
  readonly owner: string;
  /**
   * The fencing token: larger than the token of every earlier holder of this name. Pass it to the resource that the
   * lock protects, and let the resource refuse a number smaller than the largest it has seen. In JSON of your own it is
   * `String(lock.fence)`; `JSON.stringify(lock)` writes it as text too.
   */
  readonly fence: bigint;
  /** Aborts with a {@linkcode LockLostError} when the lock is lost; does not abort when it is released. */
  readonly signal: AbortSignal;
  /** Whether the lock is neither released nor lost, by this machine's clock at this moment. */
  readonly held: boolean;
  /** Returns the milliseconds until the lease ends unless it is renewed before; 0 when the lock is not held. */
  remaining(): number;
  /**
   * Renews now, for `lease` milliseconds from now on (10 to 2³¹ − 1; the lease as it is when left out). Later
   * renewals use the new lease too.
   *
   * @throws {LockLostError} when the lock is lost or released
   * @throws {StoreError} when the store did not answer; the lock is held as long as it was before, or shorter if
   * `lease` was
   * @throws {RangeError} when `lease` is out of range, or no longer than the `renew` interval
   */
  extend(lease?: number): Promise<void>;
  /**
   * Releases the lock. A second call returns the same promise. With the option `atLeast`, a lock that was held for less
   * than that is left to its lease, shortened or prolonged to what is missing.
   *
   * If another handle of this process waits for the name, the lock may be handed on to it without a request to the
   * store. If the process exits right behind that, others wait until the lease ends: end the waits first.
   *
   * @throws {LockLostError} when the lock was lost before: what ran under it was not protected to the end
   * @throws {StoreError} when the store could not be reached for 5 s; the lock then ends with its lease
   */
  release(): Promise<void>;
  /**
   * Releases at the end of an `await using` scope. Rejects with {@linkcode LockLostError} when the lock was lost,
   * unless `strict: false` was given; a store that cannot be reached does not fail it. If the store was closed before
   * the release, the process is warned once (`HoldfastWarning`). After `release()` it does nothing.
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The settings of a handle for its end. */
type LockSettings = Pick<Settings, "strict" | "atLeast">;

/** The `Lock` given to callers, backed by a `Lease`. */
export class LeasedLock implements Lock {
  readonly fence: bigint;
  readonly #store: Store;
  readonly #lease: Lease;
  readonly #clock: Clock;
  readonly #settings: LockSettings;
  #releasing: Promise<void> | undefined;

  /** Wraps a lease that has just begun. */
  constructor(store: Store, lease: Lease, settings: LockSettings, clock: Clock) {
    this.#store = store;
    this.#lease = lease;
    this.fence = lease.fence;
    this.#settings = settings;
    this.#clock = clock;
    lease.handle = this;
  }

  get name(): string {
    return this.#lease.claim.name;
  }

  get mode(): Mode {
    return this.#lease.claim.mode;
  }

  get permits(): number | undefined {
    return this.#lease.claim.permits;
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
    const now = this.#clock.now();
    // A loss that is noticed only now aborts the signal, and a listener of it may call release() as well.
    const lost = this.#lease.lostAt(now);
    if (this.#releasing !== undefined) return this.#releasing;
    const { claim, renewing } = this.#lease;
    if (lost !== undefined) {
      // Whatever is left of the lock in the store is released as well, but there is nothing to wait for.
      releaseWithRetry(this.#store, claim, this.#clock).catch(() => {});
      return this.#releasing = Promise.reject(lost);
    }
    const missing = this.#settings.atLeast - this.#lease.heldFor(now);
    const last = missing > 0 ? numbered(resized(claim, Math.max(missing, MIN_LEASE_MS))) : undefined;
    const faults: unknown[] = [];
    // A renewal that overtook the release could acquire the lock again on a store that had forgotten it.
    const sent = releaseWithRetry(this.#store, claim, this.#clock, faults, last, renewing);
    return this.#releasing = this.#settle(sent, now, faults);
  }

  /**
   * Releases the lock. On Redis that runs the script release.lua, by way of `release()`, `releaseWithRetry()`,
   * `HandoffStore.release()`, `ServerStore.release()` and `Runner.run()`.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    // The caller of release() knows how it ended.
    if (this.#releasing !== undefined) return await this.#releasing.catch(() => {});
    try {
      await this.release();
    } catch (error) {
      // The body ran protected if only the release failed: that must not throw its result away.
      if (error instanceof LockLostError) {
        if (this.#settings.strict) throw error;
      } else if (this.#store.closed) {
        // Nobody else says why the lock stays.
        warnOnce(
          "closed",
          `Lock "${this.name}" could not be released: its client or store was closed before the scope of the lock ` +
            `ended. It ends with its lease of ${this.#lease.claim.lease} ms. Close the client after its locks are released`,
        );
      }
    }
  }

  /** Ends the lease while a release is on its way, and waits for the answer. `faults` are how it has failed. */
  async #settle(sent: Promise<boolean>, now: Instant, faults: readonly unknown[]): Promise<void> {
    const released = sent.then((known) => this.#released(known, now));
    const settled = within(RELEASE_LIMIT_MS, released, this.#clock, now);
    this.#lease.end();
    try {
      await settled;
    } catch (error) {
      if (error instanceof LockLostError) throw error;
      // Made here, so that the stack shows who released.
      const late = error === LATE ? ` within ${RELEASE_LIMIT_MS} ms` : "";
      throw storeError(this.#store, `Cannot release lock "${this.name}"${late}`, faults.at(-1));
    }
  }

  /** Handles the answer to a release that was sent at `now`: whether the store knew the lock. */
  #released(known: boolean, now: Instant): void {
    const revoked = known ? undefined : this.#lease.disown();
    if (revoked !== undefined) throw revoked;
    if (!isObserved(this.#store)) return;
    notify(this.#store, this.#lease.claim, { type: "released", fence: this.fence, held: this.#lease.heldFor(now) });
  }
}

makeInspectable<LeasedLock>(LeasedLock.prototype, "Lock", (lock) => {
  const { name, mode, fence, held } = lock;
  return { name, mode, fence, held, remaining: lock.remaining() };
});
