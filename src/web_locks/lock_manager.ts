import { acquireFrom } from "../lock/acquisition.ts";
import { AttemptHistory } from "../lock/lease/attempt_history.ts";
import { clockOf } from "../lock/lease/held_leases.ts";
import { checkTarget } from "../internal/mistaken_target.ts";
import { show } from "../internal/validation.ts";
import { checkAcquireOptions, checkName } from "../lock/options.ts";
import type { Lock } from "../lock/lock.ts";
import type { Entry, Mode, Store } from "../contract/store.ts";
import { type LockTarget, storeOf } from "../lock/target.ts";
import { fromStoreName, toStoreName } from "./names.ts";
import { checkLockManagerOptions, type LockManagerOptions } from "./options.ts";
import { checkLockRequest, type LockGrantedCallback, type LockOptions, notSupported } from "./request.ts";
import { runHeld } from "./run_held.ts";

/** The owner of a request: the id of the manager, and an id of the request. Other owners do not have this form. */
const CLIENT = /^([0-9a-f-]{36}):[0-9a-f-]{36}$/;

/** A lock that is held or requested. */
export interface LockInfo {
  /** Its name. */
  name: string;
  /** How it is held, or requested. */
  mode: Mode;
  /**
   * The {@linkcode LockManager.clientId} of the manager that holds or requests it. For a lock that was acquired in
   * another way, its owner.
   */
  clientId: string;
}

/** The locks of a store. */
export interface LockManagerSnapshot {
  /** The locks that are held. */
  held: LockInfo[];
  /** The requests that wait, for each name in the order in which they will be granted. */
  pending: LockInfo[];
}

/**
 * A lock manager like the platform's `navigator.locks`, for all processes that use the same store. It also excludes
 * locks of the same name that are acquired with `acquire`.
 *
 * It differs from the platform's manager in these points:
 *
 * - A lock can be lost while its callback runs: its lease ends when the process or the store is cut off for too long.
 *   Then `lock.signal` aborts, and the request rejects at once with an `AbortError`, as after a steal. The `cause` of
 *   the error is a {@linkcode LockLostError}, so `isLockLost(error)` is true.
 * - A name has at most 1,024 bytes of UTF-8. An empty name is kept in the store as `-`.
 * - A holder is notified of a steal after the thief has the lock.
 *
 * @example Give up when the lock is busy
 * ```ts
 * import { memory } from "@holdfast/lock/memory";
 * import { LockManager } from "@holdfast/lock/web-locks";
 *
 * const locks = new LockManager(memory(), { lease: 10_000 });
 * await locks.request("nightly-report", { ifAvailable: true }, (lock) => {
 *   if (lock === null) return; // another instance is at it
 *   console.log("writing the report with fence", lock.fence);
 * });
 * ```
 */
export class LockManager {
  /** The id of this manager in {@linkcode LockManager.query}, a UUID. */
  readonly clientId: string = crypto.randomUUID();
  readonly #store: Promise<Store>;
  readonly #options: LockManagerOptions;
  /** The requests that the store has not answered yet; each promise resolves with the answer. */
  readonly #fresh = new Set<Promise<void>>();

  /**
   * Creates a lock manager. Sends nothing.
   *
   * @param target a Redis client; an array of clients of independent servers (Redlock); or a store such as
   * `sqlite("locks.db")`
   * @param options how locks are held; durations in milliseconds
   * @throws {TypeError} when an argument is of the wrong kind, or an option is unknown
   * @throws {RangeError} when a number is out of range
   */
  constructor(target: LockTarget, options: LockManagerOptions = {}) {
    this.#options = checkLockManagerOptions(options);
    checkTarget(target);
    // Always a promise, so that requests go to the store in the order in which they were made.
    this.#store = Promise.resolve(storeOf(target));
    // Each request rejects with the failure.
    this.#store.catch(() => {});
  }

  /** Requests an exclusive lock; see the other overload. */
  request<T>(name: string, callback: LockGrantedCallback<T>): Promise<Awaited<T>>;
  /**
   * Requests a lock, waiting for it first come, first served, and runs a callback while it is held.
   *
   * @param name the name of the lock, at most 1,024 bytes of UTF-8; not beginning with `-`
   * @param options how to wait and how to hold
   * @param callback called with the lock; with `null` if `ifAvailable` is true and the lock is busy
   * @returns what the callback returns, once the lock is released
   * @throws {DOMException} `AbortError`, when the lock was stolen or lost: what ran under it was not protected to the
   * end; `NotSupportedError`, when the name is reserved, or the options do not go together or with the store
   * @throws {TypeError} when an argument is of the wrong kind
   * @throws {RangeError} when the name is too long
   * @throws {StoreError} when the store fails for 10 s without a break, does not answer for 10 s, or fails in a way
   * that does not pass by itself; with `ifAvailable` when the one attempt fails
   * @throws {LockConflictError} when the lock is held as a semaphore
   * @throws the reason of `signal`, when that aborts before the lock is granted; what the callback throws
   */
  request<T>(name: string, options: LockOptions, callback: LockGrantedCallback<T>): Promise<Awaited<T>>;
  async request<T>(name: string, optionsOrCallback: unknown, ...rest: unknown[]): Promise<Awaited<T>> {
    const { callback, ifAvailable, ...asked } = checkLockRequest<T>(name, [optionsOrCallback, ...rest]);
    const { mode, steal, signal } = asked;
    const wait = ifAvailable ? 0 : Infinity;
    const settings = checkAcquireOptions({ ...this.#options, mode, steal, signal, wait });
    const stored = toStoreName(asked.name);
    checkName(stored);
    const answered = this.#noteFresh();
    let lock: Lock | null;
    try {
      const store = await this.#store;
      const missing = settings.needs.find((need) => !store.capabilities?.includes(need));
      if (missing !== undefined) {
        throw notSupported(`Cannot request lock ${show(asked.name)}: the store does not support "${missing}"`);
      }
      signal?.throwIfAborted();
      const history = new NotedHistory(store, stored, answered);
      lock = await acquireFrom(store, stored, { ...settings, client: this.clientId }, clockOf(store), history);
    } finally {
      answered();
    }
    if (lock === null) return await callback(null);
    if (signal?.aborted) {
      // The signal aborted at the moment of the grant. The caller does not wait for the release: if that fails, the
      // lock ends with its lease.
      lock.release().catch(() => {});
      throw signal.reason;
    }
    const { fence, signal: lost } = lock;
    return await runHeld(lock, () => callback({ name: asked.name, mode, fence, signal: lost }));
  }

  /**
   * Lists the held and requested locks of the store, of all programs. A semaphore is listed as shared.
   *
   * @throws {DOMException} `NotSupportedError`, when the store cannot list its locks
   */
  async query(): Promise<LockManagerSnapshot> {
    const before = [...this.#fresh];
    const store = await this.#store;
    if (store.query === undefined) throw notSupported("Cannot query locks: the store cannot list them");
    await Promise.all(before);
    const { held, pending } = await store.query();
    return { held: held.map(toLockInfo), pending: pending.map(toLockInfo) };
  }

  /** Records a request that {@linkcode query} waits for. Returns a function that ends this. */
  #noteFresh(): () => void {
    let resolve = () => {};
    const fresh = new Promise<void>((fulfil) => resolve = fulfil);
    this.#fresh.add(fresh);
    return () => {
      this.#fresh.delete(fresh);
      resolve();
    };
  }
}

/** The attempts of a request; calls a function when the store has answered that the lock is busy. */
class NotedHistory extends AttemptHistory {
  readonly #answered: () => void;

  constructor(store: Store, name: string, answered: () => void) {
    super(store, name);
    this.#answered = answered;
  }

  override busy(): void {
    super.busy();
    this.#answered();
  }
}

function toLockInfo({ name, owner, mode, permits }: Entry): LockInfo {
  return {
    name: fromStoreName(name),
    mode: permits === undefined ? mode : "shared",
    clientId: CLIENT.exec(owner)?.[1] ?? owner,
  };
}
