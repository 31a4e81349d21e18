/**
 * Locks in the memory of one process: for tests, examples, and for keeping the parts of one process apart.
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
import { checkKeys, checkObserver } from "../_check.ts";
import { SystemClock } from "../_clock.ts";
import type { Observer } from "../observer.ts";
import type { QuorumNode } from "../store.ts";
import { MemoryStore } from "./_memory_store.ts";

/** What `memory()` takes. */
export interface MemoryOptions {
  /** Hears what happens to the locks of this store. */
  observer?: Observer | undefined;
}

/**
 * A store in memory. Each call makes a new, empty one.
 *
 * @example
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * await using lock = await acquire(memory(), "invoice:42");
 * ```
 *
 * @throws {TypeError} when an option is unknown or of the wrong kind
 */
export function memory(options: MemoryOptions = {}): QuorumNode {
  const { observer } = checkKeys(options, ["observer"]);
  checkObserver(observer);
  return new MemoryStore(observer, new SystemClock());
}
