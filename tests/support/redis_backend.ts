import type { Redis } from "ioredis";
import type { Backend } from "@holdfast/lock/cas";

/** Compares and replaces in one step: a script of Redis runs alone. */
const REPLACE = `
  local found = redis.call("GET", KEYS[1])
  if (found and found:sub(1, 36) or "") ~= ARGV[1] then return 0 end
  redis.call("SET", KEYS[1], ARGV[2])
  return 1`;

/** Keeps documents on a Redis server. In front of each text is an id of its own: that is its version. */
export function redisDocuments(redis: Redis): Backend<string | undefined> {
  return {
    async read(name) {
      const found = await redis.get(`document:${name}`);
      return { value: found?.slice(36), version: found?.slice(0, 36) };
    },
    async write(name, text, version) {
      const id = crypto.randomUUID();
      const written = await redis.eval(REPLACE, 1, `document:${name}`, version ?? "", id + text);
      return written === 1 ? { written: true, version: id } : { written: false };
    },
  };
}
