/**
 * Locks in the memory of one process: for tests, examples, and separate parts of one process.
 *
 * @example
 * ```ts
 * import { tryAcquire } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * const store = memory();
 * await using lock = await tryAcquire(store, "report");
 * console.log(await tryAcquire(store, "report")); // null
 * ```
 *
 * @module
 */
export { type InMemoryStore, memory } from "./store.ts";
export type { MemoryOptions } from "./options.ts";
