/**
 * Locks in an SQLite file, for any number of processes on one machine. Deno and Node 22.13 or later need no
 * installation.
 *
 * @example
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { sqlite } from "@holdfast/lock/sqlite";
 *
 * using store = sqlite(":memory:"); // for several processes: the path of a file
 * await using lock = await acquire(store, "nightly-report");
 * ```
 *
 * @module
 */
export { sqlite, type SqliteStore } from "./store.ts";
export type { SqliteOptions } from "./options.ts";
