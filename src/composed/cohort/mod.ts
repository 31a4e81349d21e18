/**
 * One place in a store for all the handles of a process: contention inside the process costs no requests.
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
