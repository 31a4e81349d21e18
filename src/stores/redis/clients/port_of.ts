import { BunPort } from "./bun.ts";
import type { RedisClient } from "./client.ts";
import { IoredisPort } from "./ioredis.ts";
import { NodeRedisPort } from "./node_redis.ts";
import type { RedisPort } from "./port.ts";
import { UpstashPort } from "./upstash.ts";
import { ValkeyGlidePort } from "./valkey_glide.ts";

/** Returns the port for a client, by its library. */
export function portOf(client: RedisClient): RedisPort {
  if ("postCommand" in client) return new UpstashPort(client);
  if ("customCommand" in client) return new ValkeyGlidePort(client);
  if ("evalSha" in client) return new NodeRedisPort(client);
  return "send" in client ? new BunPort(client) : new IoredisPort(client);
}
