/**
 * A store in which a process hands a lock on among its own handles without a request, ahead of other processes.
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
export { type Cohort, cohort } from "./cohort.ts";
export type { CohortOptions } from "./options.ts";
