/**
 * The interface of `redis-semaphore` 5 over Holdfast, for `Mutex`, `RedlockMutex` and `Semaphore`: a change of one
 * import. Old and new mutexes exclude each other, because the keys are the same. Switch a semaphore over in all
 * processes at once. A lock that was lost never ends the process.
 *
 * @example
 * ```ts ignore
 * import { Redis } from "ioredis";
 * import { Mutex, TimeoutError } from "@holdfast/compat/redis-semaphore";
 *
 * const mutex = new Mutex(new Redis(), "invoice:42", { acquireTimeout: 5_000 });
 * try {
 *   await mutex.acquire();
 * } catch (error) {
 *   if (!(error instanceof TimeoutError)) throw error;
 * } finally {
 *   await mutex.release();
 * }
 * ```
 *
 * @module
 */
export { Mutex, RedlockMutex, type RedlockMutexOptions, Semaphore } from "./mutex.ts";
export { type LockLostCallback, SemaphoreLock, type SemaphoreLockOptions as LockOptions } from "./lock.ts";
export { LostLockError, TimeoutError } from "./errors.ts";
export { defaultTimeoutOptions, type SemaphoreTimeouts as TimeoutOptions } from "./options.ts";
