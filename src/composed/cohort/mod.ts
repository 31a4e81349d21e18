/**
 * One place in the queue of a store for all handles of a process that want the same lock: the process hands the lock on
 * among them without a request.
 *
 * @example
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { cohort } from "@holdfast/lock/cohort";
 * import { memory } from "@holdfast/lock/memory";
 *
 * await using store = cohort(memory());
 * await using lock = await acquire(store, "invoice:42");
 * ```
 *
 * @module
 */
export { type Cohort, cohort } from "./store.ts";
export type { CohortOptions } from "./options.ts";
