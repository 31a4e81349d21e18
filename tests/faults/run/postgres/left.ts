import type { Pgbouncer } from "../../../support/pgbouncer.ts";
import type { PostgresServer } from "../../../support/postgres_server.ts";
import type { Left } from "../deployment.ts";
import { leftIn } from "../documents.ts";
import { administer } from "./administrator.ts";
import { connectTo, USER } from "./connection.ts";

/** How long a statement may take in the end, in milliseconds. */
const LIMIT_MS = 10_000;

/**
 * Returns what is in the rows when each lock was used once more, and connections of clients that have gone: those with
 * the server, and with its pooler.
 */
export async function postgresLeft(
  server: PostgresServer,
  locks: readonly string[],
  { pooler, wait }: { readonly pooler?: Pgbouncer; readonly wait?: number } = {},
): Promise<Left> {
  const { backend, close } = connectTo({ port: server.port }, LIMIT_MS);
  const entries = await leftIn(backend, locks, wait).finally(close);
  const clients = "SELECT pid || ' ' || query AS client FROM pg_stat_activity " +
    `WHERE backend_type = 'client backend' AND usename = '${USER}'`;
  const connections = await administer(server.url, (run) => run(clients));
  const pooled = pooler === undefined ? [] : await administer(pooler.console, (run) => run("SHOW CLIENTS"));
  return {
    entries,
    connections: [
      ...connections.map(({ client }) => `${client}`),
      ...pooled.filter(({ database }) => database === "postgres").map(({ port }) => `port ${port} with the pooler`),
    ],
  };
}
