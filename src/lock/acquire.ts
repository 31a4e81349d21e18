import { timeoutError } from "./lease/held_leases.ts";
import { acquireFrom } from "./acquisition.ts";
import type { Lock } from "./lock.ts";
import {
  type AcquireOptions,
  checkAcquireOptions,
  checkName,
  checkTryAcquireOptions,
  type TryAcquireOptions,
} from "./options.ts";
import { type LockTarget, storeOf } from "./target.ts";

/**
 * Acquires a lock and waits for it, first come, first served. Hold it with `await using`: it is renewed while it is
 * held and released when the scope ends.
 *
 * @example
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * const store = memory();
 * await using lock = await acquire(store, "invoice:42", { wait: 5_000 });
 * console.log(lock.held); // true
 * ```
 *
 * @param target a Redis client; an array of clients of independent servers (Redlock); or a store such
 * as `sqlite("locks.db")`
 * @param name the name of the lock, 1 to 1,024 bytes of UTF-8
 * @param options how to wait and how to hold; durations in milliseconds
 * @returns the lock, held
 * @throws {LockTimeoutError} when the lock was not free within `wait` milliseconds
 * @throws {StoreError} when the store fails for 10 s without a break, or until `wait` is over, does not answer for 10
 * s, or fails in a way that retries cannot overcome, such as missing rights; with `wait: 0` when the one attempt fails
 * @throws {LockConflictError} when the lock is held with other `permits`, or shared by the same `owner`
 * @throws {TypeError} when an argument is of the wrong kind, or an option is unknown or not supported by the store
 * @throws {RangeError} when the name or a number is out of range
 * @throws the reason of `signal`, when that aborts before the lock is held
 */
export async function acquire(target: LockTarget, name: string, options?: AcquireOptions): Promise<Lock> {
  checkName(name);
  const settings = checkAcquireOptions(options);
  settings.signal?.throwIfAborted();
  const lock = await acquireFrom(storeOf(target), name, settings);
  if (lock === null) {
    throw timeoutError(await storeOf(target), name, `Cannot acquire lock "${name}" within ${settings.wait} ms`);
  }
  return lock;
}

/**
 * Acquires a lock if it is free and nobody waits for it. Resolves to `null` when it is busy. Rejects when the store
 * does not answer for 10 s; `signal: AbortSignal.timeout(500)` ends the call sooner.
 *
 * @example Only one instance writes the report
 * ```ts
 * import { tryAcquire } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * const store = memory();
 * await using lock = await tryAcquire(store, "nightly-report");
 * if (lock === null) console.log("another instance is at it");
 * ```
 *
 * @param target a Redis client; an array of clients of independent servers (Redlock); or a store such
 * as `sqlite("locks.db")`
 * @param name the name of the lock, 1 to 1,024 bytes of UTF-8
 * @param options how to hold; durations in milliseconds
 * @returns the lock, held, or `null`
 * @throws {StoreError} when the store fails, or does not answer for 10 s
 * @throws {LockConflictError} when the lock is held with other `permits`, or shared by the same `owner`
 * @throws {TypeError} when an argument is of the wrong kind, or an option is unknown or not supported by the store
 * @throws {RangeError} when the name or a number is out of range
 * @throws the reason of `signal`, when that aborts before the store has answered
 */
export async function tryAcquire(
  target: LockTarget,
  name: string,
  options?: TryAcquireOptions,
): Promise<Lock | null> {
  checkName(name);
  const settings = checkTryAcquireOptions(options);
  settings.signal?.throwIfAborted();
  return await acquireFrom(storeOf(target), name, settings);
}
