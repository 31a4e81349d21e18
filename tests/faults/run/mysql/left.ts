import { acquire } from "../../../../mod.ts";
import { cas } from "../../../../src/stores/cas/mod.ts";
import type { MariadbServer } from "../../../support/mariadb_server.ts";
import type { Left } from "../deployment.ts";
import { readFields } from "../memcached/documents.ts";
import { connectTo } from "./connection.ts";

/** How long the next user of a lock may wait for dead holders and waiters, in milliseconds. */
const PASSED_OVER_MS = 15_000;

/** Returns what is in the rows when each lock was used once more, and connections of clients that have gone. */
export async function mysqlLeft(server: MariadbServer, locks: readonly string[]): Promise<Left> {
  const { pool, backend } = connectTo(server.port);
  try {
    const store = cas(backend);
    const entries = await Promise.all(locks.map(async (lock) => {
      const failure = await acquire(store, lock, { wait: PASSED_OVER_MS, lease: PASSED_OVER_MS })
        .then((held) => held.release(), (error: Error) => error.message);
      if (failure !== undefined) return [failure];
      const { holders = [], queue = [] } = await readFields(backend, lock) ?? {};
      return [...holders, ...queue].map((entry) => `in the row of lock ${lock}: ${JSON.stringify(entry)}`);
    }));
    await pool.end();
    return { entries: entries.flat(), connections: await connections(server) };
  } finally {
    await pool.end().catch(() => {}); // It is closed already.
  }
}

/** Returns the connections of clients with a server, but for that which asks. */
async function connections(server: MariadbServer): Promise<string[]> {
  const [rows] = await server.query(
    "SELECT CONCAT(ID, ' ', HOST) AS client FROM information_schema.PROCESSLIST WHERE DB = 'holdfast' " +
      "AND COMMAND <> 'Killed' AND ID <> CONNECTION_ID()",
  );
  return rows.map(({ client }) => `${client}`);
}
