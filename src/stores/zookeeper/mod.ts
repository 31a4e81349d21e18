/**
 * Locks in a ZooKeeper ensemble.
 *
 * @example
 * ```ts ignore
 * import { acquire } from "@holdfast/lock";
 * import { zookeeper } from "@holdfast/lock/zookeeper";
 *
 * const store = zookeeper("zk1.example.com:2181,zk2.example.com:2181,zk3.example.com:2181");
 * await using lock = await acquire(store, "nightly-report", { wait: 1_000 });
 * ```
 *
 * @module
 */
export { nodeOf } from "./node_name.ts";
export { zookeeper, type ZookeeperStore } from "./store.ts";
export type {
  ZookeeperAcl,
  ZookeeperClient,
  ZookeeperDone,
  ZookeeperOptions,
  ZookeeperStat,
  ZookeeperTransaction,
} from "./options.ts";
