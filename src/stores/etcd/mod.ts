/**
 * Locks in etcd, over its JSON gateway: with `fetch`, and without a client library.
 *
 * @example
 * ```ts ignore
 * import { acquire } from "@holdfast/lock";
 * import { etcd } from "@holdfast/lock/etcd";
 *
 * const store = etcd({ endpoints: ["http://10.0.0.1:2379", "http://10.0.0.2:2379", "http://10.0.0.3:2379"] });
 * await using lock = await acquire(store, "nightly-report", { wait: 1_000 });
 * ```
 *
 * @module
 */
export { etcd, type EtcdStore } from "./store.ts";
export type { EtcdFetch, EtcdOptions, EtcdRequest, EtcdResponse } from "./options.ts";
