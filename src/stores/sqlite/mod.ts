/**
 * Locks in an SQLite file, for any number of processes on one machine; nothing to install in Deno and Node 22.13 or
 * later.
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
export { sqlite, type SqliteOptions, type SqliteStore } from "./store.ts";
