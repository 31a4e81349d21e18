import { looksLikeClient, looksLikeStore } from "../internal/target_shape.ts";
import { clockOf } from "./lease/held_leases.ts";
import type { Store } from "../contract/store.ts";
import type { RedisClient } from "../stores/redis/clients/client.ts";

/**
 * Where a lock can be taken: a store; or a Redis client, for which a store with default options is made; or an array of
 * clients of independent servers, for which a store is made that holds the lock on a majority of the servers (Redlock).
 */
export type LockTarget = Store | RedisClient | readonly RedisClient[];

/**
 * The store of each client, so that `acquire(client, …)` in a loop makes nothing anew; and the handoff wrapper of
 * each store that grants runs.
 */
const stores = new WeakMap<RedisClient | Store, Store>();

/** The stores of several clients, by the first of them. */
const quorums = new WeakMap<RedisClient, (readonly [clients: readonly RedisClient[], store: Store])[]>();

/**
 * Returns the store that a target stands for. Only here the core refers to stores: it loads them with the first client,
 * so that importing the package loads none.
 */
export function storeOf(target: LockTarget): Store | Promise<Store> {
  if (Array.isArray(target)) {
    return knownQuorum(target) ?? makeQuorum([...target]);
  }
  const store = stores.get(target as RedisClient | Store);
  if (store !== undefined) return store;
  if (looksLikeStore(target)) return handedOn(target as Store);
  return makeStore(target as RedisClient);
}

/** Returns the handoff wrapper of a store that grants runs, or the store itself if it grants none. */
function handedOn(store: Store): Store | Promise<Store> {
  // A store that wraps another one may pass the capabilities on, but not `forget`.
  if (!store.capabilities?.includes("runs") || store.forget === undefined) return store;
  return import("../handoff/handoff_store.ts").then(({ HandoffStore }) =>
    known(store, () => new HandoffStore(store, clockOf(store)))
  );
}

async function makeStore(client: RedisClient): Promise<Store> {
  if (!looksLikeClient(client)) await refuse(client);
  const { redis } = await import("../stores/redis/mod.ts");
  return known(client, () => redis(client));
}

/** Returns the store of a client or store, and makes it if there is none: another call may have made it meanwhile. */
function known(target: RedisClient | Store, make: () => Store): Store {
  const store = stores.get(target) ?? make();
  stores.set(target, store);
  return store;
}

function knownQuorum(clients: readonly RedisClient[]): Store | undefined {
  const known = quorums.get(clients[0]!) ?? [];
  return known.find(([each]) => each.length === clients.length && each.every((one, i) => one === clients[i]))?.[1];
}

async function makeQuorum(clients: readonly RedisClient[]): Promise<Store> {
  if (!clients.every(looksLikeClient)) await refuse(clients);
  const { redlock } = await import("../redlock/mod.ts");
  // Another call may have made it meanwhile.
  const known = knownQuorum(clients);
  if (known !== undefined) return known;
  const store = redlock(clients);
  quorums.set(clients[0]!, [[clients, store], ...quorums.get(clients[0]!) ?? []]);
  return store;
}

/** Rejects with the reason why a value is no target. The code that describes the value is loaded only then. */
async function refuse(target: LockTarget): Promise<void> {
  const { checkTarget } = await import("../internal/mistaken_target.ts");
  checkTarget(target);
}
