import type { RedisClient } from "./client.ts";
import { IoredisPort } from "./ioredis.ts";
import type { RedisPort } from "./port.ts";

/** Returns what the store needs of a client, by the library that the client is of. */
export function portOf(client: RedisClient): RedisPort {
  return new IoredisPort(client);
}
