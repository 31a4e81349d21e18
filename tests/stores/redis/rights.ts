import type { Redis } from "ioredis";
import type { RedisServer } from "../../support/redis_server.ts";

/** The rights that suffice, as docs/stores/redis.md gives them, in the words of `ACL SETUSER`. */
export const RULE = {
  /** All keys of a lock with the usual prefix begin in one of these ways. */
  keys: ["~lock:*", "~{lock:*"],
  /**
   * Each client is woken over a channel of its own; a new user of Redis 6.2 may use all of them, until they are reset.
   */
  channels: ["resetchannels", "&holdfast:*"],
  client: ["+evalsha", "+eval", "+subscribe"],
  /** The server asks for the rights to what a script does, too. */
  scripts: [
    ...["+time", "+get", "+set", "+del", "+pexpire", "+pttl", "+publish", "+hset", "+hget", "+hmget", "+hdel"],
    ...["+zadd", "+zcard", "+zrange", "+zrank", "+zscore", "+zrem"],
  ],
};

/** Makes a user with nothing but these rights, and a client for it. */
export async function connectAs(
  server: RedisServer,
  admin: Redis,
  username: string,
  rule: readonly string[],
  options: Parameters<RedisServer["connect"]>[0] = { enableReadyCheck: false },
): Promise<Redis> {
  await admin.call("ACL", "SETUSER", username, "reset", "on", ">secret", ...rule);
  return server.connect({ username, password: "secret", ...options });
}
