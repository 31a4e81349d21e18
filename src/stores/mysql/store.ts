import { StoreError } from "../../contract/errors.ts";
import { Closable } from "../../internal/closable.ts";
import { checkHexCursor, randomHex, textOfHex } from "../../internal/sql/hex.ts";
import type { ListingStore } from "../../contract/store.ts";
import type {
  Backend,
  FoundDocument,
  KeyVersion,
  ListedDocuments,
  WriteOptions,
  WriteResult,
} from "../../engine/mod.ts";
import { casOf } from "../../engine/store.ts";
import { type MysqlConnections, type MysqlPool, READ_ONLY } from "./connections.ts";
import { checkMysqlOptions, type MysqlCallbackPool, type MysqlOptions } from "./options.ts";
import {
  columnsOf,
  createTable,
  grantRights,
  hasSeveralWriters,
  layoutFault,
  ROWS_LIMIT,
  VARIABLES,
} from "./schema.ts";
import { MysqlStatements, type Reply } from "./statements.ts";

/** A store in a table of MariaDB or MySQL. `query()` lists all locks in the table, in the order of the names. */
export type MysqlStore = ListingStore;

/**
 * Returns a store in a table of MariaDB or MySQL, which is made at the first use.
 *
 * **What a server forgets.** After a crash with `innodb_flush_log_at_trx_commit` other than 1, and after the promotion
 * of a replica, the last grants may be gone: two callers may believe for a moment that they hold the lock; the fence
 * orders them.
 *
 * @example
 * ```ts ignore
 * import { acquire } from "@holdfast/lock";
 * import { mysql } from "@holdfast/lock/mysql";
 * import { createPool } from "mariadb";
 *
 * const pool = createPool("mariadb://app:secret@127.0.0.1/shop");
 * await using lock = await acquire(mysql(pool), "nightly-report", { wait: 1_000 });
 * ```
 *
 * @param pool a pool of mysql2 or of mariadb
 * @param options the table, an observer, and how far the clocks of several writing servers may be apart
 * @throws {TypeError} when `pool` is no such pool, or an option is unknown or of the wrong kind
 * @throws {RangeError} when `table` cannot be the name of a table, or `maxClockSkew` is negative
 */
export function mysql(pool: MysqlPool | MysqlCallbackPool, options: MysqlOptions = {}): MysqlStore {
  const settings = checkMysqlOptions(pool, options);
  const backend = new MysqlBackend(settings.connections, settings.table);
  return casOf(backend, settings.engine, pool, JSON.stringify([settings.table]));
}

/**
 * The errors of a statement that another transaction preceded: a duplicate name, a lock or its time limit, a deadlock,
 * a lost certification.
 */
const CONFLICTS: readonly unknown[] = [1020, 1062, 1205, 1213, 3101];

/** The errors of a user without rights, and of a missing database or column. */
const PERMANENT: readonly unknown[] = [1044, 1045, 1046, 1049, 1054, 1142, 1143, 1698];

const NO_SUCH_TABLE = 1146;

/** The `sql_select_limit` below which the server may leave out rows that the store needs. */
const SCARCE_ROWS = 1_000;

/** The error of mariadb after it has tried to connect for some time. */
const NO_CONNECTION = 45_028;

const LEFT_OPEN = "A connection came back to the pool with an open transaction. End each one before release()";

/** The errors of mysql2 and mariadb after `pool.end()`. */
const CLOSED = /pool (is )?(closed|ending)/i;

/** The flags of a reply: inside a transaction, and with `autocommit`. */
const [IN_TRANSACTION, AUTOCOMMIT] = [1, 2];

/**
 * The least plausible time of the server's clock, in milliseconds since 1970. After an error in a `typeCast` of the
 * user, mysql2 3 takes a row of that result for the reply to the next statement. Such a row can look like an accepted
 * write.
 */
const EARLIEST = Date.UTC(2020);

/** Keeps documents as rows of a table. The first call examines the table, and makes it if it is missing. */
export class MysqlBackend extends Closable implements Backend<string | undefined> {
  /** Whether several servers write. Known after the first call. */
  severalClocks = false;
  readonly #connections: MysqlConnections;
  readonly #table: string;
  readonly #statements: MysqlStatements;
  #prepared: Promise<void> | undefined;

  constructor(connections: MysqlConnections, table: string) {
    super();
    this.#connections = connections;
    this.#table = table;
    this.#statements = new MysqlStatements(table);
  }

  get lateBecause(): string | undefined {
    return this.#connections.lateBecause;
  }

  async read(name: string): Promise<FoundDocument<string | undefined>> {
    await this.#prepare();
    const [row] = await this.#rows(this.#statements.read(name));
    if (row === undefined) throw foreignReply();
    const [autocommit, inTransaction, clock, version, value] = row;
    checkAutocommit(Number(autocommit) === 1);
    if (Number(inTransaction) !== 0) throw new StoreError(LEFT_OPEN);
    return found(clock, version, value);
  }

  async write(
    name: string,
    value: string,
    expected: string | undefined,
    { notBefore }: WriteOptions,
  ): Promise<WriteResult<string | undefined>> {
    const version = randomHex();
    const reply = await this.#change(
      expected === undefined
        ? this.#statements.insert(name, value, version)
        : this.#statements.update(name, value, version, expected, notBefore),
    );
    if (reply === undefined) return { written: false };
    const time = Number(reply.insertId) / 1_000;
    if (time > 0 && time < EARLIEST) throw foreignReply();
    return { written: true, version, time: time > 0 ? time : undefined };
  }

  async remove(documents: readonly KeyVersion<string | undefined>[]): Promise<number> {
    const reply = await this.#change(this.#statements.remove(documents), documents.length);
    return Number(reply?.affectedRows ?? 0);
  }

  async list(limit: number, cursor = ""): Promise<ListedDocuments<string | undefined>> {
    const statement = this.#statements.list(limit, checkHexCursor(cursor));
    await this.#prepare();
    const rows = await this.#rows(statement);
    const documents = rows.map(([name, clock, version, value]) => {
      return { key: textOfHex(String(name)), ...found(clock, version, value) };
    });
    // Not the key: a name of another program may be no UTF-8.
    return { documents, cursor: rows.length < limit ? undefined : String(rows.at(-1)![0]) };
  }

  /** Changes rows, one at most by default, and returns the reply; `undefined` if no row was changed. */
  async #change(statement: string, most = 1): Promise<Reply | undefined> {
    await this.#prepare();
    let reply: Reply;
    try {
      reply = await this.#query(statement) as Reply;
    } catch (error) {
      if (CONFLICTS.includes(errnoOf(error))) return undefined;
      throw error;
    }
    const { serverStatus = AUTOCOMMIT, affectedRows } = Object(reply) as Reply;
    const changed = Number(affectedRows);
    if (!(changed >= 0 && changed <= most)) throw foreignReply();
    checkAutocommit((serverStatus & AUTOCOMMIT) !== 0);
    // MySQL has written the row, which a commit would keep; a StoreError says that nothing was done.
    if ((serverStatus & IN_TRANSACTION) !== 0) throw changed === 0 ? new StoreError(LEFT_OPEN) : new Error(LEFT_OPEN);
    return changed > 0 ? reply : undefined;
  }

  /** Examines the server and the table once, and makes the table if it is missing. */
  #prepare(): Promise<void> {
    return this.#prepared ??= this.#look().catch((error) => {
      this.#prepared = undefined;
      throw error;
    });
  }

  async #look(): Promise<void> {
    const variables = new Map((await this.#rows(VARIABLES)).map(([name, value]) => [String(name), String(value)]));
    const [[limit] = []] = await this.#rows(ROWS_LIMIT);
    if (Number(limit) < SCARCE_ROWS) {
      const how = "pass a pool without it, as rows of the locks would be missing";
      throw new StoreError(`sql_select_limit is ${limit} on a connection of the pool: ${how}`, { permanent: true });
    }
    checkAutocommit(variables.get("autocommit") === "ON");
    this.severalClocks = hasSeveralWriters(variables);
    let columns = await this.#rows(columnsOf(this.#table));
    if (columns.length === 0) {
      await this.#query(createTable(this.#table));
      columns = await this.#rows(columnsOf(this.#table));
    }
    const fault = layoutFault(columns);
    if (fault === undefined) return;
    const how = `Pass another name as table, whose table is made by: ${createTable(this.#table)}`;
    throw new StoreError(`The table ${this.#table} cannot keep locks: ${fault}. ${how}`, { permanent: true });
  }

  async #rows(sql: string): Promise<readonly (readonly unknown[])[]> {
    return await this.#query(sql) as readonly (readonly unknown[])[];
  }

  /** Runs a statement, and returns its rows or its reply. */
  async #query(sql: string): Promise<unknown> {
    try {
      return await this.#connections.run(sql);
    } catch (cause) {
      throw this.#explained(cause);
    }
  }

  #explained(error: unknown): unknown {
    // That mariadb could not connect for some time is due to another one.
    const cause = errnoOf(error) === NO_CONNECTION && (error as Error).cause || error;
    const [errno, { message }] = [errnoOf(cause), cause as Error];
    // It is made again, or its name is wrong.
    if (errno === NO_SUCH_TABLE) this.#prepared = undefined;
    if (PERMANENT.includes(errno)) {
      const how = `The store needs: ${createTable(this.#table)}; ${grantRights(this.#table)}`;
      return new StoreError(`${message}. ${how}`, { permanent: true, cause });
    }
    if (READ_ONLY.includes(errno)) {
      return new StoreError(`The server only reads, as a replica does: pass a pool of the primary (${message})`, {
        cause,
      });
    }
    if (!CLOSED.test(message)) return cause;
    this.foundClosed();
    return new StoreError("The pool is closed", { permanent: true, cause });
  }
}

function found(clock: unknown, version: unknown, value: unknown): FoundDocument<string | undefined> {
  const time = Number(clock) / 1_000;
  if (version === null) return { value: undefined, version: undefined, time };
  return { value: textOfHex(String(value)), version: String(version).toLowerCase(), time };
}

/** Returns the error for the reply to another statement: the outcome of this statement is unknown. */
function foreignReply(): Error {
  return new Error("The client returned what is no reply to the statement, or the server's clock is before 2020");
}

function checkAutocommit(isOn: boolean): void {
  if (isOn) return;
  const why = "autocommit is off on the connections of the pool: what they write is not done until somebody commits";
  throw new StoreError(`${why}. Pass a pool with autocommit`, { permanent: true });
}

/** Returns the number of an error of the server or the client. */
function errnoOf(error: unknown): number | undefined {
  return (Object(error) as { readonly errno?: number }).errno;
}
