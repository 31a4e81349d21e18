import { StoreError } from "../contract/errors.ts";
import { hexOf } from "../internal/sql/hex.ts";
import { type MysqlQuery, plainQuery } from "../internal/sql/mysql_query.ts";
import {
  type PostgresKind,
  postgresKind,
  type QueryClient,
  runPostgres,
  type SqlRow,
  sqlStateOf,
  type UnsafeClient,
} from "../internal/sql/postgres_client.ts";
import { show } from "../internal/validation.ts";
import { causesOf, ormRunner, type OrmTransaction, type StatementRunner } from "./orms.ts";

/** A transaction of postgres.js: the `sql` that `sql.begin()` gives. */
export interface PostgresJsTransaction {
  /** Runs a statement. */
  unsafe(statement: string): PromiseLike<readonly object[]>;
}

/** A transaction of pg or PGlite; or of TypeORM or pg-promise, which return the rows alone. */
export interface PostgresTransaction {
  /** Runs a statement. */
  query(statement: string): PromiseLike<{ readonly rows: readonly object[] } | readonly object[]>;
}

/** A connection of `mysql2/promise` or mariadb, inside a transaction. */
export interface MysqlTransaction {
  /** Shows that this is a connection. */
  beginTransaction(): PromiseLike<unknown>;
  /** Runs a statement. */
  query(query: MysqlQuery): PromiseLike<unknown>;
}

/** A connection of mysql2, of which {@linkcode guard} uses `promise()`. */
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

/** The transactions that run the statements. */
export type Transaction =
  | OrmTransaction
  | PostgresJsTransaction
  | PostgresTransaction
  | MysqlTransaction
  | MysqlCallbackTransaction
  | SqliteTransaction;

/**
 * Writes a fence unless a larger one is there. Resolves to whether the fence is now the largest. Rejects where the
 * server shows that this does not protect the transaction.
 */
export type FenceWriter = (name: string, fence: bigint) => Promise<boolean>;

/** The errors for a missing table: of PostgreSQL, MySQL and SQLite. */
const NO_TABLE = { state: "42P01", errno: 1146, message: /no such table: holdfast_guard/ };

/** The error of PostgreSQL for `LOCK TABLE` outside a transaction. */
const NO_TRANSACTION = "25P01";

/** The flag of MySQL's replies inside a transaction. */
const IN_TRANSACTION = 1;

/** Returns the writer of fences in a transaction; throws if the kind of transaction is unknown. */
export function writerOf(tx: Transaction): FenceWriter {
  const has = (...names: string[]) => names.every((name) => typeof Reflect.get(Object(tx), name) === "function");
  if (has("exec", "prepare")) return explained(inSqlite(tx as SqliteTransaction), SQLITE_TABLE);
  if (has("query", "beginTransaction")) {
    const connection = has("promise") ? (tx as MysqlCallbackTransaction).promise() : tx as MysqlTransaction;
    return explained(inMysql(connection), MYSQL_TABLE);
  }
  const run = ormRunner(tx) ?? (has("getConnection") ? undefined : postgresRunner(tx));
  if (run !== undefined) return explained(inPostgres(run), POSTGRES_TABLE);
  const known = "postgres.js, pg, PGlite, mysql2, mariadb, node:sqlite or an ORM, not its pool";
  throw new TypeError(`tx must be what runs the statements of a transaction of ${known}: got ${show(tx)}`);
}

/** Clients that may run each statement in a transaction of its own, or in another caller's. */
const POOLS: readonly PostgresKind[] = ["postgres.js", "pg pool", "pglite"];

/** Returns the function that runs statements on a connection of PostgreSQL; `undefined` for anything else. */
function postgresRunner(tx: unknown): StatementRunner | undefined {
  const kind = postgresKind(tx);
  if (kind === undefined || POOLS.includes(kind)) return undefined;
  const client = tx as UnsafeClient | QueryClient;
  return (text) => "unsafe" in client ? client.unsafe(text) : client.query(text);
}

const POSTGRES_TABLE = "CREATE TABLE holdfast_guard (name bytea PRIMARY KEY, fence bigint NOT NULL)";

/**
 * The condition that the transaction itself wrote the row: inside a savepoint the writer has a number of its own, which
 * differs from the transaction's.
 */
const OUTSIDE_SAVEPOINTS = "(f.xmin::text::bigint = txid_current() % 4294967296)::int";

function inPostgres(run: StatementRunner): FenceWriter {
  const client: QueryClient = {
    query: async (text) => {
      const result = await run(text);
      return (Array.isArray(result) ? { rows: result } : result) as { readonly rows: readonly SqlRow[] };
    },
  };
  return async (name, fence) => {
    // What the insert locks as well; only this one fails outside a transaction.
    await runPostgres(client, "LOCK TABLE holdfast_guard IN ROW EXCLUSIVE MODE");
    const [row] = await runPostgres(
      client,
      `INSERT INTO holdfast_guard AS f (name, fence) VALUES (decode('${hexOf(name)}', 'hex'), ${fence}) ` +
        "ON CONFLICT (name) DO UPDATE SET fence = excluded.fence WHERE f.fence <= excluded.fence " +
        `RETURNING ${OUTSIDE_SAVEPOINTS} AS outside_savepoints`,
    );
    if (row === undefined) return false;
    if (Number(row[0]) !== 1) {
      const why = "guard() inside a savepoint protects nothing once that is rolled back";
      throw new TypeError(`tx must be the transaction itself, not a savepoint of it: ${why}. Call it before SAVEPOINT`);
    }
    return true;
  };
}

const MYSQL_TABLE = "CREATE TABLE holdfast_guard (name VARBINARY(1024) NOT NULL PRIMARY KEY, fence BIGINT NOT NULL) " +
  "ENGINE=InnoDB";

/** The last reply, as a connection of mariadb keeps it. */
interface ConnectionInformation {
  readonly info?: { readonly status?: number };
}

function inMysql(connection: MysqlTransaction & ConnectionInformation): FenceWriter {
  const run = async (sql: string) => {
    const result = await connection.query(plainQuery(sql));
    // mysql2 gives a pair of the result and the columns.
    return "batch" in connection ? result : (result as readonly [unknown])[0];
  };
  const fenceOf = async (select: string) => {
    const [row] = await run(select) as readonly (readonly unknown[])[];
    return row === undefined ? undefined : BigInt(String(row[0]));
  };
  return async (name, fence) => {
    const row = `name = x'${hexOf(name)}'`;
    // Waits for the row, and changes nothing. A fence of 0 is harmless where this turns out to be no transaction.
    const locked = await run(
      `INSERT INTO holdfast_guard SET ${row}, fence = 0 ON DUPLICATE KEY UPDATE fence = fence`,
    ) as { readonly serverStatus?: number };
    const status = locked.serverStatus ?? connection.info?.status ?? IN_TRANSACTION;
    if ((status & IN_TRANSACTION) === 0) throw outside();
    // The row as it is, and as the snapshot of the transaction has it. A snapshot that begins here has the same.
    const select = `SELECT CAST(fence AS CHAR) FROM holdfast_guard WHERE ${row} LIMIT 1`;
    const present = await fenceOf(`${select} FOR UPDATE`);
    if (present === undefined || present > fence) return false;
    if (await fenceOf(select) !== present) throw oldSnapshot(name);
    if (present < fence) await run(`UPDATE holdfast_guard SET fence = ${fence} WHERE ${row}`);
    return true;
  };
}

const SQLITE_TABLE = "CREATE TABLE holdfast_guard (name BLOB PRIMARY KEY, fence INTEGER NOT NULL)";

function inSqlite(database: SqliteTransaction): FenceWriter {
  return (name, fence) => {
    if (!isInTransaction(database)) throw outside();
    const { changes } = database.prepare(
      `INSERT INTO holdfast_guard (name, fence) VALUES (x'${hexOf(name)}', ${fence}) ` +
        "ON CONFLICT (name) DO UPDATE SET fence = excluded.fence WHERE fence <= excluded.fence",
    ).run();
    return Promise.resolve(Number(changes) === 1);
  };
}

/** Returns whether a database is inside a transaction. Older versions of Node have no `isTransaction`. */
function isInTransaction(database: SqliteTransaction): boolean {
  try {
    database.exec("BEGIN");
  } catch {
    return true;
  }
  database.exec("ROLLBACK");
  return false;
}

function explained(write: FenceWriter, createTable: string): FenceWriter {
  return async (name, fence) => {
    try {
      return await write(name, fence);
    } catch (cause) {
      const causes = causesOf(cause);
      if (causes.some((each) => sqlStateOf(each) === NO_TRANSACTION)) throw outside(cause);
      if (!causes.some(isNoTable)) throw cause;
      const message = `There is no table holdfast_guard. Run this before, outside the transaction: ${createTable}`;
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

function oldSnapshot(name: string): StoreError {
  const why = `the transaction's snapshot is older than what the previous holder of "${name}" has committed`;
  const how = "Roll back and begin again, with guard() before the first SELECT and without WITH CONSISTENT SNAPSHOT";
  return new StoreError(`${why}. ${how}`);
}
