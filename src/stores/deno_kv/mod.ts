/**
 * Locks in a Deno KV. A local file serves one process. It was not tried on Deno Deploy.
 *
 * `Deno.openKv` needs the flag `--unstable-kv`, or `"unstable": ["kv"]` in `deno.json`.
 *
 * @example
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { denoKv } from "@holdfast/lock/deno-kv";
 *
 * using kv = await Deno.openKv(":memory:"); // else the path of a file
 * await using lock = await acquire(denoKv(kv), "nightly-report");
 * ```
 *
 * @module
 */
export { denoKv, type DenoKvStore } from "./store.ts";
export type { DenoKv, DenoKvAtomic, DenoKvEntry, DenoKvList, DenoKvOptions } from "./options.ts";
