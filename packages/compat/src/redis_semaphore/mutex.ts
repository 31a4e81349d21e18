import type { Store } from "@holdfast/lock";
import { checkMilliseconds, show } from "@holdfast/lock/authors";
import { redis, type RedisClient } from "@holdfast/lock/redis";
import { redlock } from "@holdfast/lock/redlock";
import { checkKey, SemaphoreLock, type SemaphoreLockOptions } from "./lock.ts";

/**
 * The stores of clients, by the first client, each with the values that it was made of: mutexes of one client share it.
 */
const STORES = new WeakMap<object, { readonly parts: readonly unknown[]; readonly store: Store }[]>();

/** The prefix that redis-semaphore gives the keys of mutexes. */
const MUTEX = "mutex:";

/**
 * A mutex under the key of redis-semaphore's mutex: the two exclude each other.
 *
 * @example
 * ```ts ignore
 * import { Redis } from "ioredis";
 * import { Mutex } from "@holdfast/compat/redis-semaphore"; // was: from "redis-semaphore"
 *
 * const mutex = new Mutex(new Redis(), "invoice:42", { onLockLost: (error) => console.error(error) });
 * await mutex.acquire();
 * try {
 *   console.log("charging with fence", mutex.fence);
 * } finally {
 *   await mutex.release();
 * }
 * ```
 */
export class Mutex extends SemaphoreLock {
  /** Checks its arguments; acquires nothing. */
  constructor(client: RedisClient, key: string, options?: SemaphoreLockOptions) {
    super({ store: storeOf([client], MUTEX), name: checkKey(key) }, options);
  }
}

/** The options of a mutex on several servers. */
export interface RedlockMutexOptions extends SemaphoreLockOptions {
  /**
   * How long each server may take to answer, in milliseconds, as `nodeTimeout` of `redlock()` in
   * `@holdfast/lock/redlock`. Not in redis-semaphore.
   */
  nodeTimeout?: number | undefined;
}

/** A mutex on a majority of independent servers, under the key of redis-semaphore's: the two exclude each other. */
export class RedlockMutex extends SemaphoreLock {
  /** Checks its arguments; acquires nothing. */
  constructor(clients: readonly RedisClient[], key: string, { nodeTimeout, ...options }: RedlockMutexOptions = {}) {
    if (!Array.isArray(clients)) throw new TypeError(`clients must be an array: got ${show(clients)}`);
    if (clients.length === 0) throw new RangeError("clients must not be empty: got []");
    if (nodeTimeout !== undefined) checkMilliseconds("nodeTimeout", nodeTimeout, 1);
    super({ store: storeOf(clients, MUTEX, nodeTimeout), name: checkKey(key), toleratesFaults: true }, options);
  }
}

/**
 * A semaphore. It does not share permits with redis-semaphore's, which keeps a sorted set under this key: while one
 * kind is in use, the other rejects. So switch a semaphore over in all processes at once.
 */
export class Semaphore extends SemaphoreLock {
  /** Checks its arguments; acquires nothing. */
  constructor(client: RedisClient, key: string, limit: number, options?: SemaphoreLockOptions) {
    if (!Number.isInteger(limit) || limit < 1) throw new RangeError(`limit must be 1, 2, 3, …: got ${show(limit)}`);
    super({ store: storeOf([client], "semaphore:"), name: checkKey(key), permits: limit }, options);
  }
}

/** Returns the store of a client, or of a majority of several clients: mutexes of the same client share it. */
function storeOf(clients: readonly RedisClient[], prefix: string, nodeTimeout?: number): Store {
  const make = () => {
    // redis() refuses a value that is no client.
    const nodes = clients.map((client) => redis(client, { prefix }));
    return nodes.length === 1 ? nodes[0]! : redlock(nodes, { nodeTimeout });
  };
  const parts = [...clients, prefix, nodeTimeout];
  const ofFirst = clients[0] === undefined ? [] : STORES.get(clients[0]) ?? [];
  const known = ofFirst.find((each) =>
    each.parts.length === parts.length && each.parts.every((part, i) => part === parts[i])
  );
  if (known !== undefined) return known.store;
  const store = make();
  STORES.set(clients[0]!, [{ parts, store }, ...ofFirst]);
  return store;
}
