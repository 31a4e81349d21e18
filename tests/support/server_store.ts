import { checkRedisOptions, type RedisOptions } from "../../src/stores/redis/options.ts";
import type { RedisClient } from "../../src/stores/redis/clients/client.ts";
import { tested } from "../stores/redis/tested.ts";
import { ServerStore } from "../../src/stores/redis/store.ts";
import { Wakeups } from "../../src/stores/redis/wakeups/wakeups.ts";

/** Makes the store that `redis()` hands on the locks of: each call of it runs a script on the server. */
export function serverStore(client: RedisClient, options: RedisOptions = {}): ServerStore {
  const settings = checkRedisOptions(client, options);
  return new ServerStore(Wakeups.of(tested(client)), settings);
}
