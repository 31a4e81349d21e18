import { StoreError } from "../errors.ts";
import { hexOf } from "../internal/sql/hex.ts";
import {
  type PostgresKind,
  postgresKind,
  type QueryClient,
  runPostgres,
  sqlStateOf,
  type UnsafeClient,
} from "../internal/sql/postgres_client.ts";
import { show } from "../internal/validation.ts";

/** A transaction of postgres.js: the `sql` that `sql.begin()` gives. */
export interface PostgresJsTransaction {
  /** Runs a statement. */
  unsafe(statement: string): PromiseLike<readonly object[]>;
}

/** A transaction of pg or PGlite. */
export interface PostgresTransaction {
  /** Runs a statement. */
  query(statement: string): PromiseLike<{ readonly rows: readonly object[] }>;
}

/** A connection of `mysql2/promise` or mariadb, inside a transaction. */
export interface MysqlTransaction {
  /** Shows that this is a connection. */
  beginTransaction(): PromiseLike<unknown>;
  /** Runs a statement. */
  query(query: { readonly sql: string; readonly metaAsArray: boolean }): PromiseLike<unknown>;
}

/** A connection of mysql2, of which {@linkcode guard} uses the `promise()`. */
export interface MysqlCallbackTransaction {
  /** Returns the same connection, with promises. */
  promise(): MysqlTransaction;
}

/** A `DatabaseSync` of `node:sqlite`, inside a transaction. */
export interface SqliteTransaction {
  /** Runs statements. */
  exec(statements: string): unknown;
  /** Prepares a statement. */
  prepare(statement: string): { run(): { readonly changes: number | bigint } };
}

/** What runs the statements of a transaction. */
export type Transaction =
  | PostgresJsTransaction
  | PostgresTransaction
  | MysqlTransaction
  | MysqlCallbackTransaction
  | SqliteTransaction;

/** Writes a fence unless a larger one is there. Resolves to whether it is the largest now. */
export type FenceWriter = (name: string, fence: bigint) => Promise<boolean>;

/** The errors for a table that is not there: of PostgreSQL, MySQL and SQLite. */
const NO_TABLE = { state: "42P01", errno: 1146, message: /no such table: holdfast_fences/ };

/** PostgreSQL says so of `LOCK TABLE` outside a transaction. */
const NO_TRANSACTION = "25P01";

/** The flag of MySQL's replies inside a transaction. */
const IN_TRANSACTION = 1;

/** Returns what writes fences in a transaction; throws unless it is known what kind of one that is. */
export function writerOf(tx: Transaction): FenceWriter {
  const has = (...names: string[]) => names.every((name) => typeof Reflect.get(Object(tx), name) === "function");
  if (has("exec", "prepare")) return explained(inSqlite(tx as SqliteTransaction), SQLITE_TABLE);
  if (has("query", "beginTransaction")) {
    const connection = has("promise") ? (tx as MysqlCallbackTransaction).promise() : tx as MysqlTransaction;
    return explained(inMysql(connection), MYSQL_TABLE);
  }
  const kind = has("getConnection") ? undefined : postgresKind(tx);
  if (kind !== undefined && !POOLS.includes(kind)) {
    return explained(inPostgres(tx as UnsafeClient | QueryClient), POSTGRES_TABLE);
  }
  const known = "postgres.js, pg, PGlite, mysql2, mariadb or node:sqlite, not its pool";
  throw new TypeError(`tx must be what runs the statements of a transaction of ${known}: got ${show(tx)}`);
}

/** What may run each statement in a transaction of its own, or in that of somebody else. */
const POOLS: readonly PostgresKind[] = ["postgres.js", "pg pool", "pglite"];

const POSTGRES_TABLE = "CREATE TABLE holdfast_fences (name bytea PRIMARY KEY, fence bigint NOT NULL)";

function inPostgres(client: UnsafeClient | QueryClient): FenceWriter {
  return async (name, fence) => {
    // What the insert locks as well; only this one fails outside a transaction.
    await runPostgres(client, "LOCK TABLE holdfast_fences IN ROW EXCLUSIVE MODE");
    const rows = await runPostgres(
      client,
      `INSERT INTO holdfast_fences AS f (name, fence) VALUES (decode('${hexOf(name)}', 'hex'), ${fence}) ` +
        "ON CONFLICT (name) DO UPDATE SET fence = excluded.fence WHERE f.fence <= excluded.fence RETURNING 1",
    );
    return rows.length === 1;
  };
}

const MYSQL_TABLE = "CREATE TABLE holdfast_fences (name VARBINARY(1024) NOT NULL PRIMARY KEY, fence BIGINT NOT NULL) " +
  "ENGINE=InnoDB";

/** What a connection of mariadb knows of the last reply. */
interface ConnectionInformation {
  readonly info?: { readonly status?: number };
}

function inMysql(connection: MysqlTransaction & ConnectionInformation): FenceWriter {
  const run = async (sql: string) => {
    const result = await connection.query({ sql, metaAsArray: false });
    // mysql2 gives a pair of the result and the columns.
    return "batch" in connection ? result : (result as readonly [unknown])[0];
  };
  return async (name, fence) => {
    const row = `name = x'${hexOf(name)}'`;
    const written = await run(
      `INSERT INTO holdfast_fences SET ${row}, fence = ${fence} ON DUPLICATE KEY UPDATE fence = GREATEST(fence, ${fence})`,
    ) as { readonly serverStatus?: number };
    const status = written.serverStatus ?? connection.info?.status ?? IN_TRANSACTION;
    if ((status & IN_TRANSACTION) === 0) throw outside();
    const larger = await run(`SELECT 1 FROM holdfast_fences WHERE ${row} AND fence > ${fence} FOR UPDATE`) as unknown[];
    return larger.length === 0;
  };
}

const SQLITE_TABLE = "CREATE TABLE holdfast_fences (name BLOB PRIMARY KEY, fence INTEGER NOT NULL)";

function inSqlite(database: SqliteTransaction): FenceWriter {
  return (name, fence) => {
    if (!isInTransaction(database)) throw outside();
    const { changes } = database.prepare(
      `INSERT INTO holdfast_fences (name, fence) VALUES (x'${hexOf(name)}', ${fence}) ` +
        "ON CONFLICT (name) DO UPDATE SET fence = excluded.fence WHERE fence <= excluded.fence",
    ).run();
    return Promise.resolve(Number(changes) === 1);
  };
}

/** Older versions of Node have no `isTransaction`. */
function isInTransaction(database: SqliteTransaction): boolean {
  try {
    database.exec("BEGIN");
  } catch {
    return true;
  }
  database.exec("ROLLBACK");
  return false;
}

/** Explains the errors of a writer. */
function explained(write: FenceWriter, createTable: string): FenceWriter {
  return async (name, fence) => {
    try {
      return await write(name, fence);
    } catch (cause) {
      if (sqlStateOf(cause) === NO_TRANSACTION) throw outside(cause);
      if (!isNoTable(cause)) throw cause;
      const message = `There is no table holdfast_fences. Run this before, outside the transaction: ${createTable}`;
      throw new StoreError(message, { permanent: true, cause });
    }
  };
}

function isNoTable(error: unknown): boolean {
  const { errno, message = "" } = Object(error) as { readonly errno?: unknown; readonly message?: string };
  return sqlStateOf(error) === NO_TABLE.state || errno === NO_TABLE.errno || NO_TABLE.message.test(message);
}

function outside(cause?: unknown): TypeError {
  return new TypeError("tx must be inside a transaction: begin it before guard()", { cause });
}
