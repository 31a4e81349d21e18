/**
 * A process that holds the lock "a" on the ZooKeeper of its first argument, below the path of its second, and watches
 * for revocation, or one that waits for that lock.
 *
 * @module
 */
import { acquire } from "../../../mod.ts";
import { zookeeper } from "../../../src/stores/zookeeper/mod.ts";

const [address, path, task] = Deno.args;
const store = zookeeper(address!, { path: path! });
if (task === "hold") {
  const lock = await acquire(store, "a", { lease: 5_000 });
  lock.signal.addEventListener("abort", () => {});
  console.log("held");
} else {
  const lock = await acquire(store, "a");
  await lock.release();
  console.log("granted");
}
