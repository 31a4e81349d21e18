/**
 * Locks on a majority of independent Redis servers (Redlock), which survive the loss of any minority of them.
 *
 * @example
 * ```ts ignore
 * import { Redis } from "ioredis";
 * import { acquire } from "@holdfast/lock";
 * import { redlock } from "@holdfast/lock/redlock";
 *
 * const store = redlock([new Redis(6379), new Redis(6380), new Redis(6381)]);
 * await using lock = await acquire(store, "invoice:42");
 * ```
 *
 * @module
 */
export { redlock } from "./store.ts";
export type { RedlockOptions } from "./options.ts";
