/**
 * A process that holds the lock "a" in the etcd of its first argument, under the prefix of its second, with the lease
 * of its third, until it is killed. Prints the fence after the milliseconds of its fourth.
 *
 * @module
 */
import { acquire } from "../../../mod.ts";
import { etcd } from "../../../src/stores/etcd/mod.ts";

const [url, prefix, lease, held = "0"] = Deno.args;
const lock = await acquire(etcd({ endpoints: [url!], prefix: prefix! }), "a", { lease: Number(lease) });
await new Promise((resolve) => setTimeout(resolve, Number(held)));
console.log(`${lock.fence}`);
// A lock does not keep a process alive.
setInterval(() => {}, 60_000);
