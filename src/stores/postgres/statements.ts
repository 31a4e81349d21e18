import { hexOf } from "../../internal/sql/hex.ts";
import { quoted } from "../../internal/sql/postgres_client.ts";
import type { KeyVersion } from "../../engine/mod.ts";

/** The schema and the name of the table. */
export interface TableName {
  readonly schema: string;
  readonly table: string;
}

/** Returns the quoted name of a table, with its schema. */
export function qualified({ schema, table }: TableName): string {
  return `${quoted(schema)}.${quoted(table)}`;
}

/** A document to write. */
export interface NewDocument {
  readonly name: string;
  readonly value: string;
  /** Its new version: 32 hexadecimal digits. */
  readonly version: string;
  readonly notify: boolean;
  /** The id of the store object that alone has to act then, if it is known. */
  readonly heir?: string | undefined;
}

/** The server's clock, in milliseconds since the Unix epoch. Not `now()`, which is the start of the transaction. */
const TIME = "extract(epoch FROM clock_timestamp()) * 1000";

/**
 * Sets `synchronous_commit` for this transaction, if a crash of the server would otherwise lose it. The server reads
 * the setting when the transaction commits, after the statement.
 */
const DURABLE = "CASE WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') " +
  "THEN set_config('synchronous_commit', 'on', true) END AS durable";

/** The server may plan to read all pages of a table with fewer pages, and uses the index of a table with more. */
export const FEW_PAGES = 32;

/** Returns the page of a row by its place, `(page,number)`; `undefined` for a document, which is no place. */
export function pageOf(place: unknown): number | undefined {
  const [, page] = /^\((\d+),\d+\)$/.exec(String(place)) ?? [];
  return page === undefined ? undefined : Number(page);
}

/** How the values of a statement reach the server. */
export interface Values {
  /** The condition that the statement is a transaction of its own: otherwise a rollback would undo it. */
  readonly alone: string;
  /** Returns an expression for a text of ASCII characters. */
  text(value: string): string;
  /** Returns an expression for the bytes of a text. */
  bytes(value: string): string;
}

/** Values inside a statement, which the server parses and plans anew each time. */
export class Literals implements Values {
  readonly alone: string;
  readonly text: (value: string) => string = text;
  readonly bytes: (value: string) => string = bytes;

  /** With the simple protocol the transaction of a statement begins at the same moment, else never. */
  constructor(simple: boolean) {
    this.alone = simple ? "transaction_timestamp() = statement_timestamp()" : "true";
  }
}

/** Values beside a prepared statement, whose text is always the same. */
export class Parameters implements Values {
  /**
   * The transaction of a prepared statement begins when its parameters are bound, which makes a portal without a name,
   * or, the first time, when it is parsed.
   */
  readonly alone =
    "(EXISTS (SELECT FROM pg_cursor() WHERE name = '' AND creation_time = transaction_timestamp()) OR EXISTS (SELECT" +
    " FROM pg_prepared_statement() WHERE statement = current_query() AND prepare_time = transaction_timestamp()))";
  /** The values, in the order of their numbers. */
  readonly all: string[] = [];

  text(value: string): string {
    const known = this.all.indexOf(value);
    return `$${known < 0 ? this.all.push(value) : known + 1}::text`;
  }

  bytes(value: string): string {
    return `decode(${this.text(hexOf(value))}, 'hex')`;
  }
}

/**
 * The statements of one table. Each is a transaction of its own and waits for no other: a locked row is skipped, and a
 * name that another transaction inserts has an advisory lock. A write returns a row if it was accepted. Every row ends
 * with the mark of its statement, so that no answer to another statement is taken for its own. The mark never repeats,
 * and is also the new version of a write.
 */
export class DocumentStatements {
  readonly #table: string;
  readonly #key: string;
  readonly #channel: string;

  constructor(name: TableName, channel: string) {
    this.#table = qualified(name);
    this.#key = hexOf(`${name.schema}.${name.table}`);
    this.#channel = text(channel);
  }

  /**
   * Returns the query for a document: its time, version and value, whether the server is a standby, and whether it is
   * outside a transaction.
   */
  read(values: Values, name: string, mark: string): string {
    return `SELECT (${TIME})::text AS time, found.version::text AS version, found.value AS value,` +
      ` pg_is_in_recovery()::text AS standby, (${values.alone})::text AS alone, ${values.text(mark)} AS mark` +
      ` FROM (SELECT) AS one LEFT JOIN ${this.#table} AS found ON found.name = ${values.bytes(name)} LIMIT 1`;
  }

  /**
   * Inserts a document, if its name has none. It reads first: `ON CONFLICT` alone would wait for a transaction that
   * changes the row.
   */
  insert(values: Values, document: NewDocument): string {
    const { name, value, version } = document;
    return `INSERT INTO ${this.#table} (name, value, version)` +
      ` SELECT ${values.bytes(name)}, ${values.text(value)}, ${values.text(version)}::uuid` +
      ` WHERE NOT EXISTS (SELECT FROM ${this.#table} WHERE name = ${values.bytes(name)})` +
      ` AND ${values.alone} AND ${this.#tryLock(values.text(hexOf(name)))}` +
      ` ON CONFLICT (name) DO NOTHING RETURNING ${this.#accepted(values, document)}`;
  }

  /** Replaces a document, if it has this version and the moment has come. */
  update(values: Values, document: NewDocument, expected: string, notBefore: number | undefined): string {
    const { name, value, version } = document;
    const due = notBefore === undefined ? "" : ` AND ${TIME} >= ${values.text(String(notBefore))}::float8`;
    // A plan that reads all rows, as the server makes it for a table of few pages, reads on no further with a limit.
    return `UPDATE ${this.#table} SET value = ${values.text(value)}, version = ${values.text(version)}::uuid` +
      ` WHERE ctid = (SELECT ctid FROM ${this.#table} WHERE name = ${values.bytes(name)}` +
      ` AND version = ${values.text(expected)}::uuid AND ${values.alone}${due} LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)` +
      ` RETURNING ${this.#accepted(values, document)}`;
  }

  /** Extends a write: if it is refused, returns the document that was there when the statement began. */
  orPresent(values: Values, write: string, { name, version }: NewDocument): string {
    const mark = values.text(version);
    return `WITH written AS (${write}) SELECT time, version, place AS value, ${mark} AS mark FROM written` +
      ` UNION ALL SELECT (${TIME})::text, version::text, value, ${mark} FROM ${this.#table}` +
      ` WHERE name = ${values.bytes(name)} AND NOT EXISTS (SELECT FROM written)`;
  }

  /** Deletes the documents that have their version. Returns a row for each deleted document. */
  remove(values: Values, documents: readonly KeyVersion<string | null>[], mark: string): string {
    const versions = documents.map(({ key, version }) => `(${bytes(key)}, ${uuid(version)})`);
    const present = `SELECT locks.ctid FROM (VALUES ${versions}) AS old (name, version) JOIN ${this.#table} AS locks` +
      ` ON locks.name = old.name AND locks.version = old.version WHERE ${values.alone}` +
      ` AND ${this.#tryLock("encode(locks.name, 'hex')")} FOR UPDATE OF locks SKIP LOCKED`;
    return `DELETE FROM ${this.#table} WHERE ctid = ANY(ARRAY(${present})) RETURNING ${DURABLE}, '${mark}' AS mark`;
  }

  /** Lists documents after a name in hexadecimal digits, up to `limit`: their times, versions, values and names. */
  list(limit: number, after: string, mark: string): string {
    const columns = `version::text AS version, value, encode(name, 'hex') AS name, '${mark}' AS mark`;
    return `SELECT (${TIME})::text AS time, ${columns}` +
      ` FROM ${this.#table} AS locks WHERE name > decode(${text(after)}, 'hex') ORDER BY locks.name LIMIT ${limit}`;
  }

  notify(payload: string): string {
    return `SELECT count(${this.#notification(text(payload))})::text AS notified`;
  }

  /**
   * Returns a condition that only one transaction at a time fulfils for a name, because a second insert or delete would
   * wait for the commit of the first.
   *
   * @param hex an expression for the name in hexadecimal digits
   */
  #tryLock(hex: string): string {
    return `pg_try_advisory_xact_lock(hashtextextended('${this.#key}/' || ${hex}, 0))`;
  }

  #notification(payload: string): string {
    return `pg_notify(${this.#channel}, ${payload})`;
  }

  /**
   * The columns of an accepted write: its time, no version of another document, its place in the table, and the effects
   * beside the write.
   */
  #accepted(values: Values, { name, version, notify, heir }: NewDocument): string {
    const payload = `${hexOf(name)}:${version}${heir === undefined ? "" : `:${heir}`}`;
    const notified = notify ? `, ${this.#notification(values.text(payload))} AS notified` : "";
    return `(${TIME})::text AS time, NULL::text AS version, ctid::text AS place, ${DURABLE}${notified},` +
      ` ${values.text(version)} AS mark`;
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
