/**
 * A process that holds the lock "a" in the file of its first argument, with the lease of its second, until it is
 * killed. Prints the fence.
 *
 * @module
 */
import { acquire } from "../../../mod.ts";
import { denoKv } from "../../../src/stores/deno_kv/mod.ts";

const [path, lease] = Deno.args;
const lock = await acquire(denoKv(await Deno.openKv(path)), "a", { lease: Number(lease) });
console.log(`${lock.fence}`);
// A lock does not keep a process alive.
setInterval(() => {}, 60_000);
