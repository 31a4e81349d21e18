/**
 * The interface of `redlock` 5 and 4 over Holdfast: a change of one import. Old and new processes exclude each other,
 * because the keys are the same.
 *
 * Not included: scripts of your own, bluebird, and a lock that is passed to another process. The page on
 * moving in the documentation of the lock lists the differences.
 *
 * @example
 * ```ts ignore
 * import { Redis } from "ioredis";
 * import Redlock, { ExecutionError } from "@holdfast/compat/redlock";
 *
 * const locks = new Redlock([new Redis()]);
 * try {
 *   await using lock = await locks.acquire(["invoice:42"], 5_000);
 *   console.log(lock.fence, lock.signal.aborted);
 * } catch (error) {
 *   if (!(error instanceof ExecutionError)) throw error;
 * }
 * ```
 *
 * @module
 */
export { Redlock, Redlock as default } from "./redlock.ts";
export { RedlockLock as Lock } from "./lock.ts";
export type { RedlockAbortSignal, RedlockRoutine, RedlockUsingContext } from "./redlock.ts";
export type { RedlockCallback } from "./callback.ts";
export { RedlockEmitter, type RedlockEvent, type RedlockListener } from "./emitter.ts";
export { ExecutionError, type ExecutionResult, type ExecutionStats, ResourceLockedError } from "./errors.ts";
export type { RedlockCompatSettings as Settings } from "./settings.ts";
