import { hexOf, hexOfBytes } from "../../internal/sql/hex.ts";
import { quoted } from "../../internal/sql/postgres_client.ts";

/** Where the documents are. */
export interface TableName {
  readonly schema: string;
  readonly table: string;
}

/** A document that is to be written. */
export interface NewDocument {
  readonly name: string;
  readonly value: string;
  /** The version that it gets: 32 hexadecimal digits. */
  readonly version: string;
  /** Whether listeners are notified. */
  readonly notify: boolean;
}

/**
 * Returns what the rows of a statement end with, so that no answer to another statement is taken for its own. It never
 * repeats, and so is the version of what the statement writes.
 */
export function newMark(): string {
  return hexOfBytes(crypto.getRandomValues(new Uint8Array(16)));
}

/** The server's clock, in milliseconds since the Unix epoch. Not now(), which is when the transaction began. */
const TIME = "extract(epoch FROM clock_timestamp()) * 1000";

/**
 * Sets `synchronous_commit` for this transaction, if a crash of the server would lose it otherwise. It is read when the
 * transaction commits, after the statement.
 */
const DURABLE = "CASE WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') " +
  "THEN set_config('synchronous_commit', 'on', true) END AS durable";

/**
 * Whether the statement is a transaction of its own: a rollback would undo it otherwise. With the simple protocol both
 * begin at the same moment then; with the extended one never.
 */
const ALONE = "transaction_timestamp() = statement_timestamp()";

/**
 * The statements of one table. Each is a transaction of its own and waits for no other one: a row that is locked is
 * skipped, and a name that another transaction inserts has an advisory lock. A write returns a row if it was accepted.
 * Every row ends with the mark of its statement, which is the new version in that of a write.
 *
 * The server parses and plans each statement anew, which takes longer than to execute it. So a write returns what is there
 * if it is refused only where that is likely: that would take another half of its time.
 */
export class DocumentStatements {
  readonly #table: string;
  readonly #key: string;
  readonly #channel: string;
  readonly #alone: string;

  /**
   * Makes the statements.
   *
   * @param simple whether they are sent with the simple protocol, so that one inside a transaction can be told
   */
  constructor({ schema, table }: TableName, channel: string, simple: boolean) {
    this.#table = `${quoted(schema)}.${quoted(table)}`;
    this.#key = hexOf(`${schema}.${table}`);
    this.#channel = text(channel);
    this.#alone = simple ? ALONE : "true";
  }

  /** Reads a document: its time, version and value, whether the server is a standby, and whether it is in no transaction. */
  read(name: string, mark: string): string {
    return `SELECT (${TIME})::text AS time, found.version::text AS version, found.value AS value,` +
      ` pg_is_in_recovery()::text AS standby, (${this.#alone})::text AS alone, '${mark}' AS mark` +
      ` FROM (SELECT) AS one LEFT JOIN ${this.#table} AS found ON found.name = ${bytes(name)}`;
  }

  /**
   * Inserts a document, if there is none of that name. It looks first: with `ON CONFLICT` alone it would wait for a
   * transaction that changes the row.
   */
  insert(document: NewDocument): string {
    const { name, value, version } = document;
    return `INSERT INTO ${this.#table} (name, value, version)` +
      ` SELECT ${bytes(name)}, ${text(value)}, '${version}'::uuid` +
      ` WHERE NOT EXISTS (SELECT FROM ${this.#table} WHERE name = ${bytes(name)})` +
      ` AND ${this.#alone} AND ${this.#tryLock(name)}` +
      ` ON CONFLICT (name) DO NOTHING RETURNING ${this.#accepted(document)}`;
  }

  /** Replaces a document, if it has that version and the moment has come. */
  update(document: NewDocument, expected: string, notBefore: number | undefined): string {
    const { name, value, version } = document;
    const due = notBefore === undefined ? "" : ` AND ${TIME} >= ${notBefore}`;
    return `UPDATE ${this.#table} SET value = ${text(value)}, version = '${version}'::uuid` +
      ` WHERE ctid = (${this.#present(name, expected)}${due} FOR NO KEY UPDATE SKIP LOCKED)` +
      ` RETURNING ${this.#accepted(document)}`;
  }

  /** Writes as one of the above. If that is refused, returns the document that was there when the statement began. */
  orPresent(write: string, { name, version }: NewDocument): string {
    return `WITH written AS (${write}) SELECT time, version, NULL::text AS value, '${version}' AS mark FROM written` +
      ` UNION ALL SELECT (${TIME})::text, version::text, value, '${version}' FROM ${this.#table}` +
      ` WHERE name = ${bytes(name)} AND NOT EXISTS (SELECT FROM written)`;
  }

  /** Deletes a document, if it has that version. */
  remove(name: string, expected: string, mark: string): string {
    return `DELETE FROM ${this.#table}` +
      ` WHERE ctid = (${this.#present(name, expected)} AND ${this.#tryLock(name)} FOR UPDATE SKIP LOCKED)` +
      ` RETURNING ${DURABLE}, '${mark}' AS mark`;
  }

  /** Lists documents after a name in hexadecimal digits, up to `limit`: their times, versions, values and names. */
  list(limit: number, after: string, mark: string): string {
    const columns = `version::text AS version, value, encode(name, 'hex') AS name, '${mark}' AS mark`;
    return `SELECT (${TIME})::text AS time, ${columns}` +
      ` FROM ${this.#table} WHERE name > decode(${text(after)}, 'hex') ORDER BY name LIMIT ${limit}`;
  }

  /** Notifies listeners. */
  notify(payload: string): string {
    return `SELECT count(${this.#notification(payload)})::text AS notified`;
  }

  /** Finds the row of a document, if it has that version. */
  #present(name: string, expected: string): string {
    return `SELECT ctid FROM ${this.#table} WHERE name = ${bytes(name)} AND version = '${expected}'::uuid` +
      ` AND ${this.#alone}`;
  }

  /** Only one transaction at a time may insert or delete a name: a second one would wait for the commit of the first. */
  #tryLock(name: string): string {
    return `pg_try_advisory_xact_lock(hashtextextended('${this.#key}/${hexOf(name)}', 0))`;
  }

  #notification(payload: string): string {
    return `pg_notify(${this.#channel}, '${payload}')`;
  }

  /** The columns of an accepted write: its time, no version of another document, and the effects beside the write. */
  #accepted({ name, version, notify }: NewDocument): string {
    const notified = notify ? `, ${this.#notification(`${hexOf(name)}:${version}`)} AS notified` : "";
    return `(${TIME})::text AS time, NULL::text AS version, ${DURABLE}${notified}, '${version}' AS mark`;
  }
}

/**
 * The ASCII characters that need no escape between quotes, as a text and as bytes, whatever the settings of the server:
 * no quotes, no backslashes, and none that some wrappers of clients take for the place of a parameter.
 */
const PLAIN = /^[\x20-\x23\x25\x26\x28-\x3e\x40-\x5b\x5d-\x7e]*$/;

/** The same with quotes and backslashes, which are doubled in a string that begins with E, whatever the settings. */
const DOUBLED = /^[\x20-\x23\x25-\x3e\x40-\x7e]*$/;

/** Returns a literal for the bytes of a text. */
export function bytes(value: string): string {
  return PLAIN.test(value) ? `'${value}'::bytea` : `decode('${hexOf(value)}', 'hex')`;
}

/** Returns a literal for a text of ASCII characters. */
export function text(value: string): string {
  if (PLAIN.test(value)) return `'${value}'`;
  if (DOUBLED.test(value)) return `E'${value.replace(/['\\]/g, (character) => character + character)}'`;
  return `convert_from(decode('${hexOf(value)}', 'hex'), 'UTF8')`;
}

/** Returns JSON of ASCII characters alone, which databases of each encoding can keep. */
export function asciiJson(json: string): string {
  return json.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
