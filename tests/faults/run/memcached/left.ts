import type { MemcachedServer } from "../../../support/memcached_server.ts";
import type { Left } from "../deployment.ts";
import { leftIn } from "../documents.ts";
import { connectTo } from "./connection.ts";

/** Returns what is in documents when each lock was used once more, and connections of clients that have gone. */
export async function memcachedLeft(server: MemcachedServer, locks: readonly string[], wait?: number): Promise<Left> {
  const { backend, close } = connectTo(server.port);
  const entries = await leftIn(backend, locks, wait).finally(close);
  return { entries, connections: await connections(server) };
}

/** Returns the connections of clients with a server, but for that which asks. */
async function connections(server: MemcachedServer): Promise<string[]> {
  const reply = await server.command("stats conns");
  const all = reply.matchAll(/^STAT (\d+):addr (\S+)\r\nSTAT \1:listen_addr \S+\r\nSTAT \1:state (\S+)\r\n/gm);
  return Array.from(all).filter(([, , , state]) => state !== "conn_parse_cmd").map(([, , address]) => address!);
}
