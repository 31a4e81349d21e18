import { acquire } from "../../../../mod.ts";
import { cas } from "../../../../src/stores/cas/mod.ts";
import type { MemcachedServer } from "../../../support/memcached_server.ts";
import type { Left } from "../deployment.ts";
import { connectTo } from "./connection.ts";
import { readFields } from "./documents.ts";

/** How long the next user of a lock may wait for dead holders and waiters, in milliseconds. */
const PASSED_OVER_MS = 15_000;

/**
 * Returns what is in documents when each lock was used once more, and connections of clients that have gone. What processes
 * left that were killed stays in a document until somebody wants the lock, and no longer.
 */
export async function memcachedLeft(
  server: MemcachedServer,
  locks: readonly string[],
  wait: number = PASSED_OVER_MS,
): Promise<Left> {
  const entries = await used(server, locks, wait);
  return { entries, connections: await connections(server) };
}

/** Uses each lock once. Returns what is in its document then. */
async function used(server: MemcachedServer, locks: readonly string[], wait: number): Promise<string[]> {
  const { backend, close } = connectTo(server.port);
  try {
    const store = cas(backend);
    const entries = await Promise.all(locks.map(async (lock) => {
      const failure = await acquire(store, lock, { wait, lease: wait })
        .then((held) => held.release(), (error: Error) => error.message);
      if (failure !== undefined) return [failure];
      const { holders = [], queue = [] } = await readFields(backend, lock) ?? {};
      return [...holders, ...queue].map((entry) => `in the document of lock ${lock}: ${JSON.stringify(entry)}`);
    }));
    return entries.flat();
  } finally {
    close();
  }
}

/** Returns the connections of clients with a server, but for that which asks. */
async function connections(server: MemcachedServer): Promise<string[]> {
  const reply = await server.command("stats conns");
  const all = reply.matchAll(/^STAT (\d+):addr (\S+)\r\nSTAT \1:listen_addr \S+\r\nSTAT \1:state (\S+)\r\n/gm);
  return Array.from(all).filter(([, , , state]) => state !== "conn_parse_cmd").map(([, , address]) => address!);
}
