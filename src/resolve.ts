import { show } from "./_check.ts";
import type { Store } from "./store.ts";
import type { RedisClient } from "./stores/redis/client.ts";

/** Where a lock can be taken: a store, or a Redis client, for which a store with default options is made. */
export type LockTarget = Store | RedisClient;

/** The store of each client, so that `acquire(client, …)` in a loop makes nothing anew. */
const stores = new WeakMap<RedisClient, Store>();

/**
 * The store that a target stands for. The only place where the core knows of a store: it is loaded when the first
 * client comes, so that importing the package loads none.
 */
export function storeOf(target: LockTarget): Store | Promise<Store> {
  const known = stores.get(target as RedisClient);
  if (known !== undefined) return known;
  if (isStore(target)) return target;
  if (!isRedisClient(target)) {
    throw new TypeError(
      `store must be a Store, or a Redis client with evalsha(), eval(), duplicate() and on(): got ${show(target)}`,
    );
  }
  return makeStore(target);
}

async function makeStore(client: RedisClient): Promise<Store> {
  const { redis } = await import("./stores/redis/mod.ts");
  // Another call may have come while the module was loading.
  const store = stores.get(client) ?? redis(client);
  stores.set(client, store);
  return store;
}

function isStore(target: LockTarget): target is Store {
  return hasMethods(target, ["attempt", "renew", "release", "drift"]);
}

function isRedisClient(target: LockTarget): target is RedisClient {
  return hasMethods(target, ["evalsha", "eval", "duplicate", "on"]);
}

function hasMethods(value: object, methods: string[]): boolean {
  return typeof value === "object" && value !== null &&
    methods.every((method) => typeof Reflect.get(value, method) === "function");
}
