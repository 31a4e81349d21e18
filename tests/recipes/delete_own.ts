import type { Redis } from "ioredis";

const SCRIPT = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`;

/** Deletes a key if it still has the value that this client gave it: the release of the better recipes. */
export async function deleteOwn(redis: Redis, key: string, value: string): Promise<void> {
  await redis.eval(SCRIPT, 1, key, value);
}
