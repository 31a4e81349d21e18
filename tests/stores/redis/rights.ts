/** The rights that suffice, as the README gives them, in the words of `ACL SETUSER`. */
export const RULE = {
  /** All keys of a lock with the usual prefix begin in one of these ways. */
  keys: ["~lock:*", "~{lock:*"],
  /** Each client is woken over a channel of its own; a new user of Redis 6.2 may use all of them, until they are reset. */
  channels: ["resetchannels", "&holdfast:*"],
  client: ["+evalsha", "+eval", "+subscribe"],
  /** The server asks for the rights to what a script does, too. */
  scripts: [
    ...["+time", "+get", "+set", "+del", "+pexpire", "+pttl", "+publish", "+hset", "+hget", "+hmget", "+hdel"],
    ...["+zadd", "+zcard", "+zrange", "+zrank", "+zscore", "+zrem"],
  ],
};
