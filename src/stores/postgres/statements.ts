import { hexOf, hexOfBytes } from "../../internal/sql/hex.ts";
import { quoted } from "../../internal/sql/postgres_client.ts";
import type { KeyVersion } from "../../engine/mod.ts";

/** The schema and the name of the table. */
export interface TableName {
  readonly schema: string;
  readonly table: string;
}

/** A document to write. */
export interface NewDocument {
  readonly name: string;
  readonly value: string;
  /** Its new version: 32 hexadecimal digits. */
  readonly version: string;
  /** Whether listeners are notified. */
  readonly notify: boolean;
}

/**
 * Returns a mark for the last column of a statement's rows, so that no answer to another statement is taken for its
 * own. It never repeats, and is also the version that the statement writes.
 */
export function newMark(): string {
  return hexOfBytes(crypto.getRandomValues(new Uint8Array(16)));
}

/** The server's clock, in milliseconds since the Unix epoch. Not `now()`, which is the start of the transaction. */
const TIME = "extract(epoch FROM clock_timestamp()) * 1000";

/**
 * Sets `synchronous_commit` for this transaction, if a crash of the server would otherwise lose it. The server reads
 * the setting when the transaction commits, after the statement.
 */
const DURABLE = "CASE WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') " +
  "THEN set_config('synchronous_commit', 'on', true) END AS durable";

/**
 * Whether the statement is a transaction of its own: otherwise a rollback would undo it. With the simple protocol both
 * begin at the same moment; with the extended protocol never.
 */
const ALONE = "transaction_timestamp() = statement_timestamp()";

/**
 * The statements of one table. Each is a transaction of its own and waits for no other: a locked row is skipped, and a
 * name that another transaction inserts has an advisory lock. A write returns a row if it was accepted. Every row ends
 * with the mark of its statement, which is also the new version of a write.
 *
 * The server parses and plans each statement anew, which takes longer than executing it. So a refused write returns the
 * present document only where refusal is likely: returning it takes half as long again.
 */
export class DocumentStatements {
  readonly #table: string;
  readonly #key: string;
  readonly #channel: string;
  readonly #alone: string;

  /**
   * Creates the statements.
   *
   * @param simple whether they are sent with the simple protocol, so that a statement inside a transaction can be
   * detected
   */
  constructor({ schema, table }: TableName, channel: string, simple: boolean) {
    this.#table = `${quoted(schema)}.${quoted(table)}`;
    this.#key = hexOf(`${schema}.${table}`);
    this.#channel = text(channel);
    this.#alone = simple ? ALONE : "true";
  }

  /**
   * Returns the query for a document: its time, version and value, whether the server is a standby, and whether it is
   * outside a transaction.
   */
  read(name: string, mark: string): string {
    return `SELECT (${TIME})::text AS time, found.version::text AS version, found.value AS value,` +
      ` pg_is_in_recovery()::text AS standby, (${this.#alone})::text AS alone, '${mark}' AS mark` +
      ` FROM (SELECT) AS one LEFT JOIN ${this.#table} AS found ON found.name = ${bytes(name)}`;
  }

  /**
   * Inserts a document, if its name has none. It reads first: `ON CONFLICT` alone would wait for a transaction that
   * changes the row.
   */
  insert(document: NewDocument): string {
    const { name, value, version } = document;
    return `INSERT INTO ${this.#table} (name, value, version)` +
      ` SELECT ${bytes(name)}, ${text(value)}, '${version}'::uuid` +
      ` WHERE NOT EXISTS (SELECT FROM ${this.#table} WHERE name = ${bytes(name)})` +
      ` AND ${this.#alone} AND ${this.#tryLock(`'${hexOf(name)}'`)}` +
      ` ON CONFLICT (name) DO NOTHING RETURNING ${this.#accepted(document)}`;
  }

  /** Replaces a document, if it has this version and the moment has come. */
  update(document: NewDocument, expected: string, notBefore: number | undefined): string {
    const { name, value, version } = document;
    const due = notBefore === undefined ? "" : ` AND ${TIME} >= ${notBefore}`;
    return `UPDATE ${this.#table} SET value = ${text(value)}, version = '${version}'::uuid` +
      ` WHERE ctid = (SELECT ctid FROM ${this.#table} WHERE name = ${bytes(name)}` +
      ` AND version = ${uuid(expected)} AND ${this.#alone}${due} FOR NO KEY UPDATE SKIP LOCKED)` +
      ` RETURNING ${this.#accepted(document)}`;
  }

  /** Extends a write: if it is refused, returns the document that was there when the statement began. */
  orPresent(write: string, { name, version }: NewDocument): string {
    return `WITH written AS (${write}) SELECT time, version, NULL::text AS value, '${version}' AS mark FROM written` +
      ` UNION ALL SELECT (${TIME})::text, version::text, value, '${version}' FROM ${this.#table}` +
      ` WHERE name = ${bytes(name)} AND NOT EXISTS (SELECT FROM written)`;
  }

  /** Deletes the documents that have their version. Returns a row for each deleted document. */
  remove(documents: readonly KeyVersion<string | null>[], mark: string): string {
    const versions = documents.map(({ key, version }) => `(${bytes(key)}, ${uuid(version)})`);
    const present = `SELECT locks.ctid FROM (VALUES ${versions}) AS old (name, version) JOIN ${this.#table} AS locks` +
      ` ON locks.name = old.name AND locks.version = old.version WHERE ${this.#alone}` +
      ` AND ${this.#tryLock("encode(locks.name, 'hex')")} FOR UPDATE OF locks SKIP LOCKED`;
    return `DELETE FROM ${this.#table} WHERE ctid = ANY(ARRAY(${present})) RETURNING ${DURABLE}, '${mark}' AS mark`;
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

  /**
   * Returns a condition that only one transaction at a time fulfils for a name, because a second insert or delete would
   * wait for the commit of the first. @param hex an expression for the name in hexadecimal digits
   *
   * @param hex an expression for the name in hexadecimal digits
   */
  #tryLock(hex: string): string {
    return `pg_try_advisory_xact_lock(hashtextextended('${this.#key}/' || ${hex}, 0))`;
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
 * no quotes, no backslashes, and no characters that some wrappers of clients take for a parameter.
 */
const PLAIN = /^[\x20-\x23\x25\x26\x28-\x3e\x40-\x5b\x5d-\x7e]*$/;

/**
 * The same characters with quotes and backslashes, which are doubled in a string that begins with E, for any settings.
 */
const DOUBLED = /^[\x20-\x23\x25-\x3e\x40-\x7e]*$/;

/** Returns a literal for a version; `null`, for a missing row, equals no version. */
function uuid(version: string | null): string {
  return version === null ? "NULL::uuid" : `'${version}'::uuid`;
}

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

/** Returns JSON of ASCII characters alone, which databases of any encoding can store. */
export function asciiJson(json: string): string {
  return json.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
