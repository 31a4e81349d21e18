import { hexOf } from "../../internal/sql/hex.ts";
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
  /** Whether those that listen are notified. */
  readonly notify: boolean;
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
 * skipped, and a name that another transaction inserts has an advisory lock. All values are hexadecimal literals.
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
  read(name: string): string {
    return `SELECT (${TIME})::text AS time, found.version::text AS version, found.value AS value,` +
      ` pg_is_in_recovery()::text AS standby, (${this.#alone})::text AS alone` +
      ` FROM (SELECT) AS one LEFT JOIN ${this.#table} AS found ON found.name = ${bytes(name)}`;
  }

  /** Inserts a document, if there is none of that name. */
  insert({ name, value, version, notify }: NewDocument): string {
    return `WITH written AS (INSERT INTO ${this.#table} (name, value, version)` +
      ` SELECT ${bytes(name)}, ${text(value)}, '${version}'::uuid` +
      ` WHERE ${this.#alone} AND ${this.#tryLock(name)}` +
      ` ON CONFLICT (name) DO NOTHING RETURNING 1)` +
      this.#outcome(name, version, notify);
  }

  /** Replaces a document, if it has that version and the moment has come. */
  update({ name, value, version, notify }: NewDocument, expected: string, notBefore: number | undefined): string {
    const due = notBefore === undefined ? "" : ` AND ${TIME} >= ${notBefore}`;
    return `WITH present AS (${this.#present(name, expected)}${due} FOR NO KEY UPDATE SKIP LOCKED),` +
      ` written AS (UPDATE ${this.#table} AS document SET value = ${text(value)}, version = '${version}'::uuid` +
      ` FROM present WHERE document.name = ${bytes(name)} RETURNING 1)` +
      this.#outcome(name, version, notify);
  }

  /** Deletes a document, if it has that version: whether it did. */
  remove(name: string, expected: string): string {
    return `WITH present AS (${this.#present(name, expected)} AND ${this.#tryLock(name)} FOR UPDATE SKIP LOCKED),` +
      ` removed AS (DELETE FROM ${this.#table} AS document USING present WHERE document.name = ${
        bytes(name)
      } RETURNING 1)` +
      ` SELECT (SELECT count(*) FROM removed)::text AS removed, ${DURABLE}`;
  }

  /** Lists so many documents after a name, which is given as hexadecimal digits: their times, versions, values and names. */
  list(limit: number, after: string): string {
    return `SELECT (${TIME})::text AS time, version::text AS version, value, encode(name, 'hex') AS name` +
      ` FROM ${this.#table} WHERE name > decode('${after}', 'hex') ORDER BY name LIMIT ${limit}`;
  }

  /** Notifies those that listen. */
  notify(payload: string): string {
    return `SELECT count(pg_notify(${this.#channel}, '${payload}'))::text AS notified`;
  }

  #present(name: string, expected: string): string {
    return `SELECT FROM ${this.#table} WHERE name = ${
      bytes(name)
    } AND version = '${expected}'::uuid AND ${this.#alone}`;
  }

  /** One at a time may insert or delete a name: another one would wait for its commit. */
  #tryLock(name: string): string {
    return `pg_try_advisory_xact_lock(hashtextextended('${this.#key}/${hexOf(name)}', 0))`;
  }

  /** The time, whether it was written, and what the statement sees instead: what was there when it began. */
  #outcome(name: string, version: string, notify: boolean): string {
    const notification = `pg_notify(${this.#channel}, '${hexOf(name)}:${version}')`;
    return ` SELECT (${TIME})::text AS time, (SELECT count(*) FROM written)::text AS written,` +
      ` found.version::text AS version, found.value AS value, ${DURABLE}` +
      (notify ? `, (SELECT count(${notification}) FROM written)::text AS notified` : "") +
      ` FROM (SELECT) AS one LEFT JOIN ${this.#table} AS found` +
      ` ON found.name = ${bytes(name)} AND NOT EXISTS (SELECT FROM written)`;
  }
}

/** Returns a literal for the bytes of a text. */
export function bytes(value: string): string {
  return `decode('${hexOf(value)}', 'hex')`;
}

/** Returns a literal for a text of ASCII characters. */
export function text(value: string): string {
  return `convert_from(${bytes(value)}, 'UTF8')`;
}

/** Returns JSON of ASCII characters alone, which databases of each encoding can keep. */
export function asciiJson(json: string): string {
  return json.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
