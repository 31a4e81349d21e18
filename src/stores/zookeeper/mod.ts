/**
 * Locks in a ZooKeeper ensemble, over node-zookeeper-client.
 *
 * @example
 * ```ts ignore
 * import { acquire } from "@holdfast/lock";
 * import { zookeeper } from "@holdfast/lock/zookeeper";
 * import { createClient } from "node-zookeeper-client";
 *
 * const client = createClient("zk1.example.com:2181,zk2.example.com:2181,zk3.example.com:2181");
 * client.connect();
 * const store = zookeeper(client);
 * await using lock = await acquire(store, "nightly-report", { wait: 1_000 });
 * ```
 *
 * @module
 */
export { zookeeper, type ZookeeperStore } from "./store.ts";
export type {
  ZookeeperAcl,
  ZookeeperClient,
  ZookeeperDone,
  ZookeeperOptions,
  ZookeeperStat,
  ZookeeperTransaction,
} from "./options.ts";
