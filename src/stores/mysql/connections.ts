import { LATE, within } from "../../contract/release.ts";
import { SystemClock } from "../../time/clock.ts";
import { type MysqlQuery, plainQuery } from "../../internal/sql/mysql_query.ts";
import { NO_CONNECTION_FREE, SILENT_MS } from "../../internal/sql/pool.ts";

/** The part of a pool of `mysql2/promise` or `mariadb` that the store uses. */
export interface MysqlPool {
  /** Runs a statement on a connection of the pool. */
  query(query: MysqlQuery): PromiseLike<unknown>;
  /** Lends a connection. */
  getConnection(): PromiseLike<unknown>;
}

/** Runs the statements of a store on the connections of a pool. */
export interface MysqlConnections {
  /**
   * Runs a statement, prepared if it has values beside it. Resolves to its rows, or to the reply to a statement that is
   * no query.
   */
  run(sql: string, values?: readonly string[]): Promise<unknown>;
  /** The reason for late statements, if they wait for a connection. */
  readonly lateBecause: string | undefined;
}

/** A connection that a pool of mysql2 lends. */
interface Mysql2Connection {
  query(query: MysqlQuery & { readonly timeout: number }): PromiseLike<unknown>;
  execute(query: MysqlQuery, values: readonly string[]): Promise<unknown>;
  release(): void;
  destroy(): void;
}

/** A connection that a pool of mariadb lends. */
interface MariadbConnection {
  query(query: MysqlQuery): Promise<unknown>;
  prepare(query: MysqlQuery): Promise<MariadbStatement>;
  release(): Promise<void>;
  /** Rejects, and closes the connection, when there is no answer within so many milliseconds. */
  ping(timeout: number): Promise<void>;
}

/** A prepared statement of mariadb. */
interface MariadbStatement {
  execute(values: readonly string[], options: MysqlQuery): Promise<unknown>;
  /** Gives it back to the connection, which keeps it. */
  close(): void;
}

/** The numbers that a pool of mariadb reports. */
interface MariadbPool extends MysqlPool {
  idleConnections?(): number;
  taskQueueSize?(): number;
}

/** The numbers of the errors of a read-only server. */
export const READ_ONLY: readonly unknown[] = [1290, 1792, 1836];

/** The code of the error after a time-out, which is that of mysql2. */
const TIMED_OUT = "PROTOCOL_SEQUENCE_TIMEOUT";

/** Runs statements with mysql2, which gives a query a time-out, but keeps a connection that has not answered. */
export class Mysql2Connections implements MysqlConnections {
  readonly #pool: MysqlPool;
  readonly #timeout: number;
  #waiting = 0;

  constructor(pool: MysqlPool, timeout = SILENT_MS) {
    this.#pool = pool;
    this.#timeout = timeout;
  }

  async run(sql: string, values?: readonly string[]): Promise<unknown> {
    const connection = await this.#connection();
    const query = plainQuery(sql);
    try {
      // A pair of the result and the columns. To prepare a statement mysql2 gives no time-out.
      const [result] = await (values === undefined
        ? connection.query({ ...query, timeout: this.#timeout })
        : inTime(this.#timeout, connection.execute(query, values))) as [unknown];
      return result;
    } catch (error) {
      const { code, errno } = Object(error) as { readonly code?: unknown; readonly errno?: unknown };
      // The next connection may reach the server that is the primary by then.
      if (code === TIMED_OUT || READ_ONLY.includes(errno)) connection.destroy();
      throw error;
    } finally {
      connection.release();
    }
  }

  async #connection(): Promise<Mysql2Connection> {
    this.#waiting++;
    try {
      return await this.#pool.getConnection() as Mysql2Connection;
    } finally {
      this.#waiting--;
    }
  }

  get lateBecause(): string | undefined {
    return this.#waiting > 0 ? NO_CONNECTION_FREE : undefined;
  }
}

/**
 * Runs statements with mariadb, which checks a connection before it lends it, unless it was just used. It keeps a
 * connection that has not answered a statement.
 */
export class MariadbConnections implements MysqlConnections {
  readonly #pool: MariadbPool;
  readonly #timeout: number;

  constructor(pool: MysqlPool, timeout = SILENT_MS) {
    this.#pool = pool;
    this.#timeout = timeout;
  }

  async run(sql: string, values?: readonly string[]): Promise<unknown> {
    const connection = await this.#pool.getConnection() as MariadbConnection;
    const query = { ...plainQuery(sql), namedPlaceholders: false };
    let isLate = false;
    try {
      return await inTime(
        this.#timeout,
        values === undefined ? connection.query(query) : executed(connection, query, values),
      );
    } catch (error) {
      isLate = Object(error).code === TIMED_OUT;
      throw error;
    } finally {
      // destroy() would send KILL over another connection: where the thread is gone, nobody catches the rejection, and
      // where another server has taken the place of this one, the thread may be somebody else's.
      if (isLate) await connection.ping(1).catch(() => {});
      await connection.release();
    }
  }

  get lateBecause(): string | undefined {
    const waits = (this.#pool.taskQueueSize?.() ?? 0) > 0 && this.#pool.idleConnections?.() === 0;
    return waits ? NO_CONNECTION_FREE : undefined;
  }
}

/**
 * Prepares a statement with mariadb, and executes it then. Its `execute()` sends both at once: if the server cannot
 * prepare the statement, it may execute the last prepared one of the connection, whosever that is.
 */
async function executed(connection: MariadbConnection, query: MysqlQuery, values: readonly string[]): Promise<unknown> {
  const statement = await connection.prepare(query);
  try {
    return await statement.execute(values, query);
  } finally {
    statement.close();
  }
}

/** Settles like a request, or rejects when it has not been answered within so many milliseconds. */
async function inTime(ms: number, request: Promise<unknown>): Promise<unknown> {
  try {
    return await within(ms, request, new SystemClock());
  } catch (error) {
    throw error === LATE ? Object.assign(new Error(`no answer within ${ms} ms`), { code: TIMED_OUT }) : error;
  }
}
