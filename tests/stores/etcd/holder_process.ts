/**
 * A process that holds the lock "a" in the etcd of its first argument, under the prefix of its second, with the lease of
 * its third, until it is killed. Prints the fence.
 *
 * @module
 */
import { acquire } from "../../../mod.ts";
import { etcd } from "../../../src/stores/etcd/mod.ts";

const [url, prefix, lease] = Deno.args;
const lock = await acquire(etcd({ endpoints: [url!], prefix: prefix! }), "a", { lease: Number(lease) });
console.log(`${lock.fence}`);
// A lock does not keep a process alive.
setInterval(() => {}, 60_000);
