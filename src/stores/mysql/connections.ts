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
  /** Runs a statement. Resolves to its rows, or to the reply to a statement that is no query. */
  run(sql: string): Promise<unknown>;
  /** The reason for late statements, if they wait for a connection. */
  readonly lateBecause: string | undefined;
}

/** A connection that a pool of mysql2 lends. */
interface Mysql2Connection {
  query(query: MysqlQuery & { readonly timeout: number }): PromiseLike<unknown>;
  release(): void;
  destroy(): void;
}

/** A connection that a pool of mariadb lends. */
interface MariadbConnection {
  query(query: MysqlQuery): Promise<unknown>;
  release(): Promise<void>;
  /** Rejects, and closes the connection, when there is no answer within so many milliseconds. */
  ping(timeout: number): Promise<void>;
}

/** The numbers that a pool of mariadb reports. */
interface MariadbPool extends MysqlPool {
  idleConnections?(): number;
  taskQueueSize?(): number;
}

/** The numbers of the errors of a read-only server. */
export const READ_ONLY: readonly unknown[] = [1290, 1792, 1836];

/** The code of the error of mysql2 after a time-out. */
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

  async run(sql: string): Promise<unknown> {
    const connection = await this.#connection();
    try {
      // A pair of the result and the columns.
      const [result] = await connection.query({ ...plainQuery(sql), timeout: this.#timeout }) as [unknown];
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

  async run(sql: string): Promise<unknown> {
    const connection = await this.#pool.getConnection() as MariadbConnection;
    let isLate = false;
    try {
      return await within(this.#timeout, connection.query(plainQuery(sql)), new SystemClock());
    } catch (error) {
      isLate = error === LATE;
      throw isLate ? new Error(`no answer within ${this.#timeout} ms`) : error;
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
