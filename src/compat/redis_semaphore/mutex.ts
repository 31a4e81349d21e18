import { redlock } from "../../composed/redlock/mod.ts";
import { show } from "../../internal/validation.ts";
import type { Store } from "../../store.ts";
import { redis, type RedisClient } from "../../stores/redis/mod.ts";
import { storeOfParts } from "../../target.ts";
import { checkKey, SemaphoreLock, type SemaphoreLockOptions } from "./lock.ts";

/** The prefix that redis-semaphore gives the keys of mutexes. */
const MUTEX = "mutex:";

/**
 * A mutex under the key of redis-semaphore's: both exclude each other.
 *
 * @example
 * ```ts ignore
 * import { Redis } from "ioredis";
 * import { Mutex } from "@holdfast/lock/compat/redis-semaphore"; // was: from "redis-semaphore"
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

/** A mutex on a majority of independent servers, under the key of redis-semaphore's: both exclude each other. */
export class RedlockMutex extends SemaphoreLock {
  /** Checks its arguments; acquires nothing. */
  constructor(clients: readonly RedisClient[], key: string, options?: SemaphoreLockOptions) {
    if (!Array.isArray(clients)) throw new TypeError(`clients must be an array: got ${show(clients)}`);
    if (clients.length === 0) throw new RangeError("clients must not be empty: got []");
    super({ store: storeOf(clients, MUTEX), name: checkKey(key) }, options);
  }
}

/**
 * A semaphore. It does not share permits with redis-semaphore's, which keeps a sorted set under this key: while one of
 * them is there, the other rejects. So a semaphore is switched over all at once.
 */
export class Semaphore extends SemaphoreLock {
  /** Checks its arguments; acquires nothing. */
  constructor(client: RedisClient, key: string, limit: number, options?: SemaphoreLockOptions) {
    if (!Number.isInteger(limit) || limit < 1) throw new RangeError(`limit must be 1, 2, 3, …: got ${show(limit)}`);
    super({ store: storeOf([client], "semaphore:"), name: checkKey(key), permits: limit }, options);
  }
}

/** Returns the store of some clients, one on a majority of them if there are several: mutexes of one client share it. */
function storeOf(clients: readonly RedisClient[], prefix: string): Store {
  const make = () => {
    // redis() refuses a value that is no client.
    const nodes = clients.map((client) => redis(client, { prefix }));
    return nodes.length === 1 ? nodes[0]! : redlock(nodes);
  };
  return storeOfParts([...clients, prefix], make);
}
