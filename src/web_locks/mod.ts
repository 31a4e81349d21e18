/**
 * The Web Locks API, `navigator.locks`, over any store: code that was written for the platform's own lock manager holds
 * its locks across processes and machines with this one.
 *
 * @example
 * ```ts
 * import { memory } from "@holdfast/lock/memory";
 * import { LockManager } from "@holdfast/lock/web-locks";
 *
 * const locks = new LockManager(memory()); // or: new Redis(), sqlite("locks.db")
 * const sum = await locks.request("invoice:42", async (lock) => {
 *   console.log(lock?.name, lock?.mode); // invoice:42 exclusive
 *   return await Promise.resolve(99);
 * });
 * console.log(sum); // 99
 * ```
 *
 * @module
 */
import { checkKeys, show } from "../_check.ts";
import { checkLockRequest, type LockGrantedCallback, type LockOptions, notSupported } from "./request.ts";
import { fromStoreName, toStoreName } from "./names.ts";
import { runHeld } from "./held.ts";
import { attain } from "../acquire.ts";
import { checkAcquireOptions, checkName } from "../options.ts";
import { type LockTarget, storeOf } from "../resolve.ts";
import type { Entry, Mode, Store } from "../store.ts";

export type { LockGrantedCallback, LockOptions, WebLock } from "./request.ts";

/** The owner of a request: the manager's id and one of its own. Whatever else an owner is, nobody else is its client. */
const CLIENT = /^([0-9a-f-]{36}):[0-9a-f-]{36}$/;

/** What a {@linkcode LockManager} takes. */
export interface LockManagerOptions {
  /**
   * How long a lock outlives a holder that has died, in milliseconds, 10 to 2³¹ − 1.
   *
   * @default {30_000}
   */
  lease?: number | undefined;
  /**
   * Whether to extend the lease while the callback runs: every third of it, or at this interval in milliseconds. With
   * `false` the lock is lost when its lease ends.
   *
   * @default {true}
   */
  renew?: boolean | number | undefined;
}

/** A lock that is held or requested. */
export interface LockInfo {
  /** Its name. */
  name: string;
  /** How it is held, or is to be. */
  mode: Mode;
  /**
   * The {@linkcode LockManager.clientId} of the manager that holds or requests it. Of a lock that was acquired in
   * another way, its owner.
   */
  clientId: string;
}

/** The locks of a store. */
export interface LockManagerSnapshot {
  /** Those that are held. */
  held: LockInfo[];
  /** Those that are requested; for each name in the order in which they will be granted. */
  pending: LockInfo[];
}

/**
 * A lock manager as the platform has one in `navigator.locks`, for all processes that use the same store. Locks of the
 * same name exclude each other also when one of them was acquired with `acquire`.
 *
 * Where it differs from the platform's:
 *
 * - A lock can be lost while its callback runs: its lease ends when the process or the store is cut off for too long.
 *   The request then rejects as after a steal, at once, with an `AbortError`, and the callback hears of it by
 *   `lock.signal`. The `cause` of the error is a {@linkcode LockLostError}, so `isLockLost(error)` is true.
 * - A name has at most 1,024 bytes of UTF-8. An empty name is kept in the store as `-`.
 * - The holder that is stolen from hears of it after the thief has the lock.
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

  /**
   * Makes a lock manager; nothing is sent.
   *
   * @param target a Redis client of ioredis's shape; an array of clients of independent servers (Redlock); or a store
   * such as `sqlite("locks.db")`
   * @param options how locks are held; durations in milliseconds
   * @throws {TypeError} when an argument is of the wrong kind, or an option is unknown
   * @throws {RangeError} when a number is out of range
   */
  constructor(target: LockTarget, options: LockManagerOptions = {}) {
    const { lease, renew } = checkKeys(options, ["lease", "renew"]);
    this.#options = { lease, renew };
    checkAcquireOptions(this.#options);
    // Always a promise, so that requests go to the store in the order in which they were made.
    this.#store = Promise.resolve(storeOf(target));
    // Every request tells.
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
   * @throws {StoreError} when the store fails at the first attempt, or for 10 s without a break while waiting
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
    const store = await this.#store;
    const missing = settings.needs.find((need) => !store.capabilities?.includes(need));
    if (missing !== undefined) {
      throw notSupported(`Cannot request lock ${show(asked.name)}: the store does not support "${missing}"`);
    }
    const lock = await attain(store, stored, { ...settings, client: this.clientId });
    if (lock === null) return await callback(null);
    if (signal?.aborted) {
      // It came with the grant. Whoever aborts does not wait for the store.
      lock.release().catch(() => {});
      throw signal.reason;
    }
    const { fence, signal: lost } = lock;
    return await runHeld(lock, () => callback({ name: asked.name, mode, fence, signal: lost }));
  }

  /**
   * Lists the locks of the store that are held and requested, by whatever program. A semaphore is listed as shared.
   *
   * @throws {DOMException} `NotSupportedError`, when the store cannot list its locks
   */
  async query(): Promise<LockManagerSnapshot> {
    const store = await this.#store;
    if (store.query === undefined) throw notSupported("Cannot query locks: the store cannot list them");
    const { held, pending } = await store.query();
    return { held: held.map(toLockInfo), pending: pending.map(toLockInfo) };
  }
}

function toLockInfo({ name, owner, mode, permits }: Entry): LockInfo {
  return {
    name: fromStoreName(name),
    mode: permits === undefined ? mode : "shared",
    clientId: CLIENT.exec(owner)?.[1] ?? owner,
  };
}
