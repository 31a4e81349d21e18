import pg from "pg";
import { tableSql } from "../../../../src/stores/postgres/schema.ts";
import { TABLES } from "../../../guard/databases.ts";
import type { PostgresServer } from "../../../support/postgres_server.ts";
import { USER } from "./connection.ts";

/** The table that the processes use. */
export const TABLE = { schema: "public", table: "holdfast_locks" };

/** What faults change for everybody, and not for who injects them. */
const UNCHANGED = "-c statement_timeout=0 -c lock_timeout=0 -c default_transaction_isolation=read\\ committed";

/** Makes the user and the table, and what the fault "deadlocks" needs. */
const SET_UP = [
  `CREATE ROLE ${USER} LOGIN`,
  tableSql(TABLE),
  ...TABLES.postgres,
  `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${USER}`,
  `GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${USER}`,
  "CREATE FUNCTION victim() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF random() < 0.3 THEN " +
  "RAISE EXCEPTION USING ERRCODE = TG_ARGV[0], MESSAGE = 'chosen'; END IF; RETURN NEW; END $$",
];

/** Makes what the processes use. */
export async function setUp(server: PostgresServer): Promise<void> {
  await administer(server.url, async (run) => {
    for (const statement of SET_UP) await run(statement);
  });
}

/** Runs a statement, and resolves to its rows. */
type Run = (statement: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

/** Does something over a connection of its own, which is closed then. */
export async function administer<T>(url: string, work: (run: Run) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, options: UNCHANGED });
  // The server may be killed meanwhile: the statement says so.
  client.on("error", () => {});
  await client.connect();
  try {
    return await work(async (statement) => (await client.query(statement)).rows);
  } finally {
    await client.end();
  }
}
