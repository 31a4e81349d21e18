import type { MysqlPool, MysqlStore } from "@holdfast/lock/mysql";
import { UsageError } from "../command.ts";
import type { Examination } from "../doctor/examination.ts";
import { type ExaminedPool, mysqlPatient } from "../doctor/mysql.ts";
import { answerOf } from "../terminal/answer.ts";
import { shown } from "../terminal/shown.ts";
import { type Address, addressOf, checkNetwork, networkPermission } from "./address.ts";
import { loadClientLibrary } from "./client_library.ts";
import type { OpenedStore, OpenOptions, Scheme, StoreUrls } from "./scheme.ts";
import { hostsOf, labelOf } from "./store_urls.ts";
import { checkParameters, decoded } from "./url_parts.ts";

const EXAMPLE = "mysql://127.0.0.1/shop";

/** Opens MySQL and MariaDB. */
export const mysql: Scheme = {
  protocols: ["mysql:", "mariadb:"],
  example: EXAMPLE,
  open,
  examination,
};

const PORT = 3306;

/** How long a server may take to accept a connection, in milliseconds. */
const CONNECT_MS = 3_000;

/** The default table of the store. */
const TABLE = "holdfast_locks";

/** The place of the table, and the login. */
interface MysqlPlace {
  readonly address: Address;
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

async function open([url]: StoreUrls, { existing = false }: OpenOptions = {}): Promise<OpenedStore> {
  const place = readMysqlUrl(url);
  await checkNetwork([place.address]);
  const { pool, store } = await connect(place);
  const opened: OpenedStore = { store, label: place.label, [Symbol.asyncDispose]: () => close(pool) };
  try {
    if (existing) await answerOf(opened, checkExists(pool.promise(), place), new AbortController().signal);
    return opened;
  } catch (error) {
    await close(pool);
    throw error;
  }
}

function examination([url]: StoreUrls): Examination {
  const place = readMysqlUrl(url);
  return {
    permissions: [networkPermission(place.address)],
    async open() {
      const { pool, store } = await connect(place);
      const { label, table } = place;
      return mysqlPatient(pool.promise(), { store, label, table, close: () => close(pool) });
    },
  };
}

async function connect(place: MysqlPlace): Promise<{ pool: Pool; store: MysqlStore }> {
  const loaded = await loadClientLibrary<Mysql2 & { readonly default?: Mysql2 }>(
    { of: "MySQL", name: "mysql2", version: "^3" },
  );
  const { mysql } = await import("@holdfast/lock/mysql");
  const { address, user, password, database, table } = place;
  const pool = (loaded.default ?? loaded).createPool({
    ...address,
    user,
    password,
    database,
    connectTimeout: CONNECT_MS,
    connectionLimit: 4,
  });
  return { pool, store: mysql(pool, { table }) };
}

/** Closes a pool, without waiting for connections that do not answer. */
async function close(pool: Pool): Promise<void> {
  await pool.promise().end().catch(() => {});
}

async function checkExists(pool: ExaminedPool, { database, table }: MysqlPlace): Promise<void> {
  const tables = "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?";
  const [rows] = await pool.query(tables, [table]);
  if (rows.length > 0) return;
  const where = `${shown(table)} in the database ${shown(database)}`;
  throw new UsageError(`there is no table ${where}: it is made by the first program that acquires a lock in it`);
}

/**
 * Reads a URL such as `mysql://user:password@host:3306/database?table=locks`.
 *
 * @throws {UsageError} which says what is wrong, without the password
 */
export function readMysqlUrl(url: URL): MysqlPlace {
  const label = labelOf(url);
  const fail = (what: string) => new UsageError(`${shown(label)} ${what}`);
  const [host = "127.0.0.1", ...others] = hostsOf(url);
  if (others.length > 0) throw fail("has several hosts: only one server may write");
  checkParameters(url, ["table"], fail);
  const parts = url.pathname.split("/").filter((part) => part !== "");
  const [database = "", ...more] = parts.map((part) => decoded(part, fail));
  if (database === "" || more.length > 0) throw fail(`must name a database: ${EXAMPLE}`);
  return {
    address: addressOf(host, PORT, fail),
    user: decoded(url.username, fail) || undefined,
    password: decoded(url.password, fail) || undefined,
    database,
    table: url.searchParams.get("table") ?? TABLE,
    label,
  };
}
