import { hexOf } from "../../internal/sql/hex.ts";
import type { KeyVersion } from "../../engine/mod.ts";

/** The server's clock, in microseconds since 1970, whatever the time zone of the connection. */
const CLOCK = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";

/** Whether a transaction is open. Only MariaDB tells; to MySQL it is a comment. */
const IN_TRANSACTION = "0 /*M!100100 + @@in_transaction */";

/**
 * The condition that a write commits at once: without `autocommit`, or in an open transaction, it would not be done
 * when it is answered.
 */
const COMMITS = "@@autocommit = 1 /*M!100100 AND @@in_transaction = 0 */";

/** A row even where the table has none, so that each read returns the time. */
const ONE = "(SELECT 1 AS one) AS one";

/**
 * Makes MariaDB wait for the lock of a row for at most one second, and not for 50; a wait in vain is a conflict. To
 * MySQL it is a comment.
 */
const BRIEFLY = "/*M!100100 SET STATEMENT innodb_lock_wait_timeout=1 FOR */ ";

/** The reply to a statement that is no query. */
export interface Reply {
  /** How many rows the statement found and changed. */
  readonly affectedRows: number;
  /** The server's clock in microseconds, from {@linkcode CLOCK}; 0 if no row was written. */
  readonly insertId: number | bigint | string;
  /** The state of the connection, which only mysql2 reports. */
  readonly serverStatus?: number;
}

/** The statements that read and write one table of the database. Values are hexadecimal, for any `sql_mode`. */
export class MysqlStatements {
  readonly #table: string;

  constructor(table: string) {
    this.#table = quoted(table);
  }

  /** Returns one row: two settings, the clock, version and value, which are `NULL` if the name has no row. */
  read(name: string): string {
    return `SELECT @@autocommit, ${IN_TRANSACTION}, ${CLOCK}, HEX(locks.version), HEX(locks.value) FROM ${ONE} ` +
      `LEFT JOIN ${this.#table} AS locks ON locks.name = ${literal(name)} LIMIT 1`;
  }

  /** Returns rows of name, clock, version and value, of the names after a name in hexadecimal digits. */
  list(limit: number, after: string): string {
    return `SELECT HEX(name), ${CLOCK}, HEX(version), HEX(value) FROM ${this.#table} ` +
      `WHERE name > x'${after}' ORDER BY name LIMIT ${limit}`;
  }

  /** Fails with "duplicate entry" if the name has a row. `INSERT IGNORE` would cut a long name. */
  insert(name: string, value: string, version: string): string {
    return `${BRIEFLY}INSERT INTO ${this.#table} (name, version, value) ` +
      `SELECT ${literal(name)}, ${timed(version)}, ${text(value)} FROM ${ONE} WHERE ${COMMITS}`;
  }

  /** Changes no row if another version is there, or before `notBefore`, in milliseconds since 1970. */
  update(name: string, value: string, version: string, expected: string, notBefore: number | undefined): string {
    const due = notBefore === undefined ? "" : ` AND ${CLOCK} >= ${Math.ceil(notBefore * 1_000)}`;
    return `${BRIEFLY}UPDATE ${this.#table} SET version = ${timed(version)}, value = ${text(value)} ` +
      `WHERE name = ${literal(name)} AND version = x'${expected}' AND ${COMMITS}${due}`;
  }

  /**
   * Deletes the rows that have their version. It finds them by the names alone: for pairs a server may read each row of
   * the table, and lock it.
   */
  remove(documents: readonly KeyVersion<string | undefined>[]): string {
    const names = documents.map(({ key }) => literal(key));
    const pairs = documents.map(({ key, version }) => `(${literal(key)}, x'${version ?? ""}')`);
    return `${BRIEFLY}DELETE FROM ${this.#table} ` +
      `WHERE name IN (${names}) AND (name, version) IN (${pairs}) AND ${COMMITS}`;
  }
}

/** Returns the name of a table, quoted for any `sql_mode`. */
export function quoted(table: string): string {
  return `\`${table.replaceAll("`", "``")}\``;
}

/**
 * Returns an expression for a version, with a side effect: the reply to a write has the argument of `LAST_INSERT_ID()`.
 */
function timed(version: string): string {
  return `IF(LAST_INSERT_ID(${CLOCK}) > 0, x'${version}', NULL)`;
}

/** Returns a literal for a text, independent of the character set of the connection. */
export function text(value: string): string {
  return `CONVERT(${literal(value)} USING utf8mb4)`;
}

function literal(value: string): string {
  return `x'${hexOf(value)}'`;
}
