import { acquire } from "../../../../mod.ts";
import { type Backend, cas } from "../../../../src/stores/cas/mod.ts";
import { memcached } from "../../../support/memcached_backend.ts";
import type { MemcachedServer } from "../../../support/memcached_server.ts";
import type { Left } from "../deployment.ts";
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
  const client = server.connect();
  try {
    const backend = memcached(client) as Backend;
    const store = cas(backend);
    const entries = await Promise.all(locks.map(async (lock) => {
      const failure = await acquire(store, lock, { wait, lease: wait })
        .then((held) => held.release(), (error: Error) => error.message);
      if (failure !== undefined) return [failure];
      const { holders = [], queue = [] } = await readFields(backend, lock) ?? {};
      return [...holders, ...queue].map((entry) => `in the document of lock ${lock}: ${JSON.stringify(entry)}`);
    }));
    return { entries: entries.flat(), connections: await connections(server) };
  } finally {
    client.shutdown();
  }
}

/** Returns the connections of a server, but for that which asks and that of the only client. */
async function connections(server: MemcachedServer): Promise<string[]> {
  const reply = await server.command("stats conns");
  const addresses = Array.from(reply.matchAll(/^STAT (\d+):addr (\S+)\r\nSTAT \1:listen_addr /gm), ([, , at]) => at!);
  return addresses.slice(2);
}
