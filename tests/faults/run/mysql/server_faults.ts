import { createConnection } from "mysql2/promise";
import type { Random } from "../../../simulation/random.ts";
import type { MariadbServer } from "../../../support/mariadb_server.ts";
import { type Fault, pause } from "../fault.ts";

/** Returns what can happen to a server that forgets nothing of what it has committed. */
export function serverFaults(server: MariadbServer): Fault[] {
  const fault = (kind: string, inject: (random: Random, over: AbortSignal) => Promise<void>): Fault => ({
    kind,
    where: "servers",
    breach: false,
    async inject(random, over) {
      await inject(random, over);
      return true;
    },
  });
  return [
    fault("server killed", async (random, over) => {
      await server.kill();
      await pause(random.spread(10, 1_500), over);
      await server.start();
    }),
    fault("KILL of connections", async (random) => {
      for (const id of await others(server)) {
        if (random.next() < 0.5) await server.query(`KILL ${id}`).catch(() => {}); // It has ended.
      }
    }),
    fault("rows locked", (random, over) => lockRows(server, random.spread(20, 3_000), over)),
    fault("deadlocks", async (_random, over) => {
      // What the server says of a statement that was chosen as the victim.
      await server.query(
        "CREATE OR REPLACE TRIGGER victim BEFORE UPDATE ON holdfast_locks FOR EACH ROW IF RAND() < 0.3 THEN " +
          "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213; END IF",
      );
      await pause(500, over);
      await server.query("DROP TRIGGER IF EXISTS victim");
    }),
  ];
}

/** Returns the ids of the connections of all others. */
async function others(server: MariadbServer): Promise<unknown[]> {
  const [rows] = await server.query(
    "SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = 'holdfast' AND ID <> CONNECTION_ID()",
  );
  return rows.map(({ id }) => id);
}

/** Locks all rows in a transaction of somebody else. */
async function lockRows(server: MariadbServer, ms: number, over: AbortSignal): Promise<void> {
  const connection = await createConnection(server.options);
  try {
    await connection.beginTransaction();
    await connection.query("SELECT name FROM holdfast_locks FOR UPDATE");
    await pause(ms, over);
    await connection.rollback();
  } finally {
    connection.destroy();
  }
}
