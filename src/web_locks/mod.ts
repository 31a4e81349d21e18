/**
 * The Web Locks API, `navigator.locks`, over any store. With it, code for the platform's lock manager holds its locks
 * across processes and machines.
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
export { LockManager } from "./lock_manager.ts";
export type { LockInfo, LockManagerSnapshot } from "./lock_manager.ts";
export type { LockManagerOptions } from "./options.ts";
export type { LockGrantedCallback, LockOptions, WebLock } from "./request.ts";
