import type { Clock, Instant } from "./internal/time/clock.ts";
import { storeError } from "./internal/failure.ts";
import { LATE, RELEASE_LIMIT_MS, releaseWithRetry, within } from "./internal/lease/release.ts";
import { makeInspectable } from "./internal/listing/inspectable.ts";
import { warnOnce } from "./internal/process/warning.ts";
import { LockLostError } from "./errors.ts";
import type { Lease } from "./lease.ts";
import { isObserved, notify } from "./internal/process/notify.ts";
import type { Mode, Store } from "./store.ts";

/**
 * A lock that is held, until it is released or lost. Made by `acquire` and `tryAcquire`.
 *
 * A lease can end while its holder is paused or cut off, and no holder can know that before it runs again. Two members
 * are there for this. `signal` aborts no later than the moment at which another owner could be granted the lock (except
 * by `steal` and `evict`). `fence` lets the resource refuse a holder that comes too late.
 *
 * If the handle becomes garbage while the lock is held, nobody can release the lock any more: it is renewed until the
 * process ends. The process is warned of that once (`HoldfastWarning`), unless the `signal` was read.
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
  /** The `permits` option: `undefined` for a lock that is no semaphore. */
  readonly permits: number | undefined;
  /**
   * The owner in the store: the `owner` option, the same for all of its handles, or else a UUID of this handle alone,
   * which cannot be passed as `owner` to re-enter the lock. The servers of a Redlock store it with a colon and the id of
   * a round of votes behind it.
   */
  readonly owner: string;
  /**
   * The fencing token: larger than that of every earlier holder of this name. Pass it to the resource that the lock
   * protects, and let the resource refuse a number smaller than the largest it has seen.
   */
  readonly fence: bigint;
  /** Aborts with a {@linkcode LockLostError} when the lock is lost; not when it is released. */
  readonly signal: AbortSignal;
  /** Whether the lock is neither released nor lost, by this machine's clock at this moment. */
  readonly held: boolean;
  /** Returns the milliseconds until the lease ends unless it is renewed before; 0 when the lock is not held. */
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
   * Releases the lock. A second call returns the same promise.
   *
   * If another handle of this process waits for the name, the lock may be handed on to it without a request to the store.
   * If the process exits right behind that, others wait until the lease ends: end the waits first.
   *
   * @throws {LockLostError} when the lock was lost before: what ran under it was not protected to the end
   * @throws {StoreError} when the store could not be reached for 5 s; the lock then ends with its lease
   */
  release(): Promise<void>;
  /**
   * Releases at the end of an `await using` scope. Rejects with {@linkcode LockLostError} when the lock was lost, unless
   * `strict: false` was given; a store that cannot be reached does not fail it. If that is so because it was closed
   * before, the process is warned once (`HoldfastWarning`). After `release()` it does nothing more.
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The `Lock` given to callers, backed by a `Lease`. */
export class LeasedLock implements Lock {
  readonly fence: bigint;
  readonly #store: Store;
  readonly #lease: Lease;
  readonly #clock: Clock;
  readonly #strict: boolean;
  #releasing: Promise<void> | undefined;

  /** Wraps a lease that has just begun. */
  constructor(store: Store, lease: Lease, strict: boolean, clock: Clock) {
    this.#store = store;
    this.#lease = lease;
    this.fence = lease.fence;
    this.#strict = strict;
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
    if (this.#releasing !== undefined) return this.#releasing;
    // A loss that is noticed only now aborts the signal, and a listener of it may call release() as well.
    const now = this.#clock.now();
    const lost = this.#lease.lostAt(now);
    return this.#releasing ??= this.#release(lost, now);
  }

  /**
   * Releases the lock. On Redis that runs the script release.lua, by way of `release()`, `#release()`,
   * `releaseWithRetry()`, `HandoffStore.release()`, `ServerStore.release()` and `Runner.run()`.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    // The caller of release() knows how it ended.
    if (this.#releasing !== undefined) return await this.#releasing.catch(() => {});
    try {
      await this.release();
    } catch (error) {
      // The body ran protected if only the release failed: that must not throw its result away.
      if (!(error instanceof LockLostError)) this.#warnIfClosed();
      else if (this.#strict) throw error;
    }
  }

  /** Warns of a client or store that was closed too early: nobody else says why the lock stays. */
  #warnIfClosed(): void {
    if (!this.#store.closed) return;
    warnOnce(
      "closed",
      `Lock "${this.name}" could not be released: its client or store was closed before the scope of the lock ended. ` +
        `It ends with its lease of ${this.#lease.claim.lease} ms. Close the client after its locks are released`,
    );
  }

  async #release(lost: LockLostError | undefined, now: Instant): Promise<void> {
    const { claim, renewing } = this.#lease;
    let fault: unknown;
    const send = () => releaseWithRetry(this.#store, claim, this.#clock, (error) => fault = error);
    if (lost !== undefined) {
      // Whatever is left of the lock in the store is released as well, but there is nothing to wait for.
      send().catch(() => {});
      throw lost;
    }
    // Sent first: the rest is done while it is on its way. But a renewal that overtook the release could acquire the lock
    // again on a store that had forgotten it.
    const sent = renewing === undefined ? send() : renewing.then(send);
    const released = sent.then((known) => this.#released(known, now));
    const settled = within(RELEASE_LIMIT_MS, released, this.#clock, now);
    this.#lease.end();
    try {
      await settled;
    } catch (error) {
      if (error instanceof LockLostError) throw error;
      // Made here, so that the stack shows who released.
      const late = error === LATE ? ` within ${RELEASE_LIMIT_MS} ms` : "";
      throw storeError(this.#store, `Cannot release lock "${this.name}"${late}`, fault);
    }
  }

  /** Goes on once the store has answered whether it knew the lock, which was released at that moment. */
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
