import type { RedisServer } from "../../../../support/redis_server.ts";

/** Returns how often a server was told to change the database of a connection. */
export async function selections(server: RedisServer): Promise<number> {
  return Number(/cmdstat_select:calls=(\d+)/.exec(String(await server.command("INFO", "commandstats")))?.[1] ?? 0);
}
