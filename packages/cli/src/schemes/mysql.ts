import type { MysqlPool } from "@holdfast/lock/mysql";
import { UsageError } from "../command.ts";
import { type ExaminedPool, mysqlPatient } from "../doctor/mysql.ts";
import { shown } from "../terminal/shown.ts";
import type { Address } from "./address.ts";
import { loadClientLibrary } from "./client_library.ts";
import { type ConnectedStore, type Places, servers } from "./servers.ts";
import { partsOf } from "./url_parts.ts";

const FORM = {
  example: "mysql://127.0.0.1/shop",
  host: "127.0.0.1",
  port: 3306,
  one: "only one server may write",
  parameters: ["table"],
};

/** Opens MySQL and MariaDB. */
export const mysql = servers({
  protocols: ["mysql:", "mariadb:"],
  example: FORM.example,
  read: readMysqlUrl,
  connect,
});

/** How long a server may take to accept a connection, in milliseconds. */
const CONNECT_MS = 3_000;

/** The default table of the store. */
const TABLE = "holdfast_locks";

/** The place of the table, and the login. */
interface MysqlPlace {
  readonly addresses: readonly Address[];
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string;
  readonly table: string;
  readonly label: string;
}

/** A pool of `mysql2`. */
interface Pool {
  promise(): MysqlPool & ExaminedPool & { end(): Promise<void> };
}

/** The used part of the package `mysql2`. */
interface Mysql2 {
  createPool(options: object): Pool;
}

async function connect([place]: Places<MysqlPlace>): Promise<ConnectedStore> {
  const loaded = await loadClientLibrary<Mysql2 & { readonly default?: Mysql2 }>(
    { of: "MySQL", name: "mysql2", version: "^3" },
  );
  const { mysql } = await import("@holdfast/lock/mysql");
  const { addresses, user, password, database, table, label } = place;
  const pool = (loaded.default ?? loaded).createPool({
    ...addresses[0],
    user,
    password,
    database,
    connectTimeout: CONNECT_MS,
    connectionLimit: 4,
  });
  const store = mysql(pool, { table });
  // It does not wait for connections that do not answer.
  const close = () => pool.promise().end().catch(() => {});
  return {
    store,
    ready: async (existing) => {
      if (existing) await checkExists(pool.promise(), place);
    },
    patient: () => mysqlPatient(pool.promise(), { store, label, table, close }),
    close,
  };
}

async function checkExists(pool: ExaminedPool, { database, table }: MysqlPlace): Promise<void> {
  const tables = "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?";
  const [rows] = await pool.query(tables, [table]);
  if (rows.length > 0) return;
  const where = `${shown(table)} in the database ${shown(database)}`;
  throw new UsageError(`there is no table ${where}: it is made by the first program that acquires a lock in it`);
}

/** Reads a URL such as `mysql://user:password@host:3306/database?table=locks`. */
export function readMysqlUrl(url: URL): MysqlPlace {
  const { label, addresses, username: user, password, path, parameters, fail } = partsOf(url, FORM);
  const [database, ...more] = path;
  if (database === undefined || more.length > 0) throw fail("must name a database");
  return { addresses, user, password, database, table: parameters["table"] ?? TABLE, label };
}
