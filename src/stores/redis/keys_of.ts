import type { RedisClient } from "./clients/client.ts";
import { KeySpace } from "./keys/keys.ts";
import { DEFAULT_PREFIX, type RedisOptions } from "./options.ts";
import { Wakeups } from "./wakeups/wakeups.ts";

/**
 * Returns the keys in which a server keeps the lock of a name, as the client names them: without the prefix that the
 * client puts before every key. For tools that read the keys of a lock, or delete the keys of an unused lock.
 *
 * @example
 * ```ts ignore
 * import { Redis } from "ioredis";
 * import { keysOf } from "@holdfast/lock/redis";
 *
 * const client = new Redis();
 * await client.del(...keysOf(client, "invoice:42"));
 * ```
 *
 * @param client any client of the server
 * @param name the name of the lock
 * @param options the prefix of the store, if it is not the default
 */
export function keysOf(client: RedisClient, name: string, options: Pick<RedisOptions, "prefix"> = {}): string[] {
  return [...new KeySpace(Wakeups.of(client).port, options.prefix ?? DEFAULT_PREFIX).keysOf(name)];
}
