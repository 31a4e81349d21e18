import type { MariadbServer } from "../../../support/mariadb_server.ts";
import type { Left } from "../deployment.ts";
import { leftIn } from "../documents.ts";
import { connectTo } from "./connection.ts";

/** Returns what is in the rows when each lock was used once more, and connections of clients that have gone. */
export async function mysqlLeft(server: MariadbServer, locks: readonly string[], wait?: number): Promise<Left> {
  const { backend, close } = connectTo(server.port);
  const entries = await leftIn(backend, locks, wait).finally(close);
  return { entries, connections: await connections(server) };
}

/** Returns the connections of clients with a server, but for that which asks. */
async function connections(server: MariadbServer): Promise<string[]> {
  const [rows] = await server.query(
    "SELECT CONCAT(ID, ' ', HOST) AS client FROM information_schema.PROCESSLIST WHERE DB = 'holdfast' " +
      "AND COMMAND <> 'Killed' AND ID <> CONNECTION_ID()",
  );
  return rows.map(({ client }) => `${client}`);
}
