/**
 * Locks on a Redis or Valkey server.
 *
 * @example With a prefix of one's own
 * ```ts ignore
 * import { Redis } from "ioredis";
 * import { acquire } from "@holdfast/lock";
 * import { redis } from "@holdfast/lock/redis";
 *
 * const store = redis(new Redis(), { prefix: "billing:" });
 * await using lock = await acquire(store, "invoice:42");
 * ```
 *
 * @module
 */
export { keysOf } from "./keys_of.ts";
export { redis, type RedisStore } from "./store.ts";
export type { RedisOptions, ReplicasOptions } from "./options.ts";
export type {
  BunRedisClient,
  IoredisClient,
  LacksOfIoredis,
  NodeRedisClient,
  NodeRedisScriptOptions,
  RedisClient,
  RedisNode,
  RedisPipeline,
  RedisSubscriber,
  UpstashClient,
  ValkeyGlideClient,
} from "./clients/client.ts";
