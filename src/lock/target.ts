import { describeMistake, looksLikeClient, looksLikeStore } from "./internal/mistaken_target.ts";
import { clockOf } from "./internal/lease/held_leases.ts";
import type { Store } from "./store.ts";
import type { RedisClient } from "./stores/redis/clients/client.ts";

/**
 * Where a lock can be taken: a store; or a Redis client, for which a store with default options is made; or an array of
 * clients of independent servers, for which one is made that holds the lock on a majority of them (Redlock).
 */
export type LockTarget = Store | RedisClient | readonly RedisClient[];

/**
 * The store of each client, so that `acquire(client, …)` in a loop makes nothing anew, and what hands on the locks of each
 * store that grants runs.
 */
const stores = new WeakMap<RedisClient | Store, Store>();

/** What a store is made of: clients, in their order, and the prefix of its keys if that is not the default. */
type StoreParts = readonly (RedisClient | string)[];

/** The stores of several parts, by the first one, a client. */
const quorums = new WeakMap<object, (readonly [StoreParts, Store])[]>();

/**
 * The store that a target stands for. The only place where the core knows of stores: they are loaded when the first
 * client comes, so that importing the package loads none.
 */
export function storeOf(target: LockTarget): Store | Promise<Store> {
  if (Array.isArray(target)) {
    return knownQuorum(target) ?? makeQuorum(target.map(checkClient));
  }
  const store = stores.get(target as RedisClient | Store);
  if (store !== undefined) return store;
  if (looksLikeStore(target)) return handedOn(target as Store);
  return makeStore(checkClient(target as RedisClient));
}

/** Returns the store that hands on what this one grants to several handles; the same one if it grants no runs. */
function handedOn(store: Store): Store | Promise<Store> {
  // A store that wraps another one may pass the capabilities on, but not `forget`.
  if (!store.capabilities?.includes("runs") || store.forget === undefined) return store;
  return import("./internal/handoff/handoff_store.ts").then(({ HandoffStore }) =>
    known(store, () => new HandoffStore(store, clockOf(store)))
  );
}

async function makeStore(client: RedisClient): Promise<Store> {
  const { redis } = await import("./stores/redis/mod.ts");
  return known(client, () => redis(client));
}

/** Returns the store of a client or store, and makes it if there is none: another call may have come meanwhile. */
function known(target: RedisClient | Store, make: () => Store): Store {
  const store = stores.get(target) ?? make();
  stores.set(target, store);
  return store;
}

function knownQuorum(parts: StoreParts): Store | undefined {
  const known = quorums.get(parts[0] as RedisClient) ?? [];
  return known.find(([each]) => each.length === parts.length && each.every((part, i) => part === parts[i]))?.[1];
}

/** Returns the store of these parts, and makes it if there is none. The array must not change later. */
export function storeOfParts(parts: StoreParts, make: () => Store): Store {
  const known = knownQuorum(parts);
  if (known !== undefined) return known;
  const store = make();
  const first = parts[0] as RedisClient;
  quorums.set(first, [[parts, store], ...quorums.get(first) ?? []]);
  return store;
}

async function makeQuorum(clients: readonly RedisClient[]): Promise<Store> {
  const { redlock } = await import("./composed/redlock/mod.ts");
  return storeOfParts(clients, () => redlock(clients));
}

function checkClient(client: RedisClient, place?: number): RedisClient {
  if (looksLikeClient(client)) return client;
  const what = place === undefined
    ? "store must be a Store, a Redis client, or an array of such clients"
    : `store[${place}] must be a Redis client`;
  throw new TypeError(`${what}: got ${describeMistake(client)}`);
}
