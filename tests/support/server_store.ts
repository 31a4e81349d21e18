import { checkRedisOptions, type RedisOptions } from "../../src/stores/redis/options.ts";
import type { RedisClient } from "../../src/stores/redis/clients/client.ts";
import { ServerStore } from "../../src/stores/redis/store.ts";

/** Makes the store that `redis()` hands on the locks of: each call of it runs a script on the server. */
export function serverStore(client: RedisClient, options: RedisOptions = {}): ServerStore {
  return new ServerStore(client, checkRedisOptions(client, options));
}
