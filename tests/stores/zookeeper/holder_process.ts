/**
 * A process that holds the lock "a" on the ZooKeeper of its first argument, below the path of its second, with the
 * lease of its third, until it is killed. Prints the fence after the milliseconds of its fourth.
 *
 * @module
 */
import { createClient } from "node-zookeeper-client";
import { acquire } from "../../../mod.ts";
import { zookeeper } from "../../../src/stores/zookeeper/mod.ts";

const [address, path, lease, held = "0"] = Deno.args;
const client = createClient(address!);
client.connect();
const lock = await acquire(zookeeper(client, { path: path! }), "a", { lease: Number(lease), wait: 20_000 });
await new Promise((resolve) => setTimeout(resolve, Number(held)));
console.log(`${lock.fence}`);
