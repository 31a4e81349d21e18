import { closed, type RedisServer } from "../../../support/redis_server.ts";
import { serverStore } from "../../../support/server_store.ts";
import { type Left, listed } from "../deployment.ts";

/**
 * Returns what stores list of some servers, the keys that are left without fences, and connections of clients that have
 * gone.
 */
export async function redisLeft(servers: readonly RedisServer[]): Promise<Left> {
  const entries = await Promise.all(servers.map(listedBy));
  const keys = (await Promise.all(servers.map((server) => server.leftovers()))).flat();
  const lists = await Promise.all(servers.map((server) => server.command("CLIENT", "LIST")));
  // All but the one that asks, other servers and Sentinels.
  const connections = lists.flatMap((list) => String(list).trim().split("\n")).filter((line) => {
    return !/ cmd=client(\|list)? /.test(line) && !/ flags=[^ ]*[SM]/.test(line) && !/ name=sentinel-/.test(line);
  });
  return { entries: [...entries.flat(), ...keys.map((key) => `key ${key}`)], connections };
}

async function listedBy(server: RedisServer): Promise<string[]> {
  const client = server.connect();
  try {
    return await listed(serverStore(client));
  } finally {
    await closed(client);
  }
}
