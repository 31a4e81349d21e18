import { type Connection, createConnection } from "mysql2/promise";
import { createTable } from "../../../../src/stores/mysql/schema.ts";
import type { Random } from "../../../simulation/kernel/random.ts";
import { TABLES } from "../../../guard/databases.ts";
import type { MariadbServer } from "../../../support/mariadb_server.ts";
import { type Fault, pause, serverFault } from "../fault.ts";
import { USER } from "./connection.ts";

/** How many connections a server takes by default, and the least to which that can be set. */
const [CONNECTIONS, LEAST] = [151, 10];

/** How long something is wrong, in milliseconds. */
const DURATION = [20, 2_500] as const;

/** Makes the user and the table that the processes use. */
export async function setUp(server: MariadbServer): Promise<void> {
  const user = `${USER}@'127.0.0.1'`;
  const tables = [createTable("holdfast_locks"), ...TABLES.mysql];
  await server.query(`CREATE USER ${user}; GRANT ALL ON holdfast.* TO ${user}; ${tables.join("; ")}`);
}

/** What lasts while something is wrong. */
type Lasting = () => Promise<void>;

/** Returns what can happen to a server that forgets nothing of what it has committed. */
export function serverFaults(server: MariadbServer): Fault[] {
  const fault = (kind: string, run: (lasting: Lasting, random: Random) => Promise<unknown>): Fault =>
    serverFault(kind, false, async (random, over) => {
      await server.checkAlive();
      await run(() => pause(random.spread(...DURATION), over), random);
    });
  const administered = (kind: string, run: (admin: Connection, lasting: Lasting, random: Random) => Promise<unknown>) =>
    fault(kind, (lasting, random) => administer(server, (admin) => run(admin, lasting, random)));
  return [
    fault("server killed", async (lasting) => {
      await server.kill();
      await lasting();
      await server.start();
    }),
    administered("KILL of connections", (admin, _, random) => kill(admin, () => random.chance(0.5))),
    administered("too many connections", async (admin, lasting) => {
      await admin.query(`SET GLOBAL max_connections = ${LEAST}`);
      await kill(admin);
      await lasting();
      await admin.query(`SET GLOBAL max_connections = ${CONNECTIONS}`);
    }),
    administered("rows locked", lockRows),
    administered("statements timed out", async (admin, lasting) => {
      // Connections that there are do not go by it.
      await admin.query("SET GLOBAL max_statement_time = 0.03");
      await kill(admin);
      await lockRows(admin, lasting);
      await admin.query("SET GLOBAL max_statement_time = 0");
      await kill(admin);
    }),
    administered("deadlocks", async (admin, lasting) => {
      // What the server says of a statement that was chosen as the victim.
      await admin.query(
        "CREATE OR REPLACE TRIGGER victim BEFORE UPDATE ON holdfast_locks FOR EACH ROW IF RAND() < 0.3 THEN " +
          "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213; END IF",
      );
      await lasting();
      await admin.query("DROP TRIGGER IF EXISTS victim");
    }),
  ];
}

/** Does something over a connection of its own, which is closed then. */
async function administer(server: MariadbServer, work: (admin: Connection) => Promise<unknown>): Promise<void> {
  const admin = await createConnection(server.options);
  try {
    await work(admin);
  } finally {
    admin.destroy();
  }
}

/** Kills the connections of the processes, or some of them. */
async function kill(admin: Connection, isChosen: () => boolean = () => true): Promise<void> {
  const [rows] = await admin.query(`SELECT ID AS id FROM information_schema.PROCESSLIST WHERE USER = '${USER}'`);
  for (const { id } of rows as { readonly id: number }[]) {
    if (isChosen()) await admin.query(`KILL ${id}`).catch(() => {}); // It has ended.
  }
}

/** Locks all rows in a transaction of somebody else. */
async function lockRows(admin: Connection, lasting: Lasting): Promise<void> {
  await admin.beginTransaction();
  await admin.query("SELECT name FROM holdfast_locks FOR UPDATE");
  await lasting();
  await admin.rollback();
}
