import { checkKeys, show } from "../../internal/validation.ts";
import type { CasOptions } from "../cas/mod.ts";

/** What the store gives to `pool.query()`. */
export interface MysqlQuery {
  /** One statement, with its values in it. */
  readonly sql: string;
  /** Rows are arrays, whatever the options of the pool say. */
  readonly rowsAsArray: boolean;
  /** So that mariadb returns the rows alone. */
  readonly metaAsArray: boolean;
  /** So that mysql2 returns plain rows. */
  readonly nestTables: boolean;
  /** Leaves values as the client reads them, whatever function the pool has. */
  readonly typeCast: (column: unknown, next: () => unknown) => never;
}

/** What the store uses of a pool of `mysql2/promise` or of `mariadb`. */
export interface MysqlPool {
  /** Runs a statement on a connection of the pool. */
  query(query: MysqlQuery): PromiseLike<unknown>;
  /** Gives a connection. The store does not call it: it shows that this is a pool. */
  getConnection(): PromiseLike<unknown>;
}

/** A pool of `mysql2`, of which the store uses the `promise()`. */
export interface MysqlCallbackPool {
  /** Returns the same pool, with promises. */
  promise(): MysqlPool;
}

/** The options of `mysql()`. */
export interface MysqlOptions extends CasOptions {
  /** The table, in the database of the pool; `"holdfast_locks"` when left out. */
  readonly table?: string | undefined;
}

/** Runs a statement. Resolves to its rows, or to the reply to what is no query. */
export type RunStatement = (sql: string) => Promise<unknown>;

/** The arguments of `mysql()`, checked. */
export interface MysqlSettings {
  readonly run: RunStatement;
  readonly table: string;
  readonly engine: CasOptions;
}

/** How long the name of a table may be, in characters. */
const MAX_TABLE = 64;

/** Checks a pool and the options, and separates those of the engine. */
export function checkMysqlOptions(pool: MysqlPool | MysqlCallbackPool, options: MysqlOptions): MysqlSettings {
  const { table = "holdfast_locks", ...engine } = checkKeys(options, ["table", "maxClockSkew", "observer"]);
  if (typeof table !== "string") throw new TypeError(`table must be a string: got ${show(table)}`);
  // Such a name the server would cut, or refuse: a space at the end, NUL, or what is not in the first plane of Unicode.
  if (table === "" || table.length > MAX_TABLE || /[\0\ud800-\udfff]|[ ]$/.test(table)) {
    throw new RangeError(`table must be the name of a table, with at most ${MAX_TABLE} characters: got ${show(table)}`);
  }
  return { run: runOn(pool), table, engine };
}

/** What a query asks for, whatever the options of the pool say. */
const PLAIN: Omit<MysqlQuery, "sql"> = {
  rowsAsArray: true,
  metaAsArray: false,
  nestTables: false,
  typeCast: (_column, next) => next() as never,
};

function runOn(pool: MysqlPool | MysqlCallbackPool): RunStatement {
  const has = (...methods: string[]) => methods.every((name) => typeof Reflect.get(Object(pool), name) === "function");
  const wanted = "pool must be a pool of mysql2 or of mariadb";
  if (has("beginTransaction")) {
    const why = "a lock that a rollback undoes, or that waits for a transaction, is none";
    throw new TypeError(`${wanted}, not one of its connections: ${why}. Pass the pool`);
  }
  // Only a pool has these: clusters send statements to several servers.
  if (!has("query", "releaseConnection") && !has("query", "activeConnections")) {
    throw new TypeError(`${wanted}, as createPool() gives it: got ${show(pool)}`);
  }
  const pooled = has("promise") ? (pool as MysqlCallbackPool).promise() : pool as MysqlPool;
  // mysql2 gives a pair of them and the columns.
  if (has("releaseConnection")) {
    return async (sql) => (await pooled.query({ sql, ...PLAIN }) as [unknown])[0];
  }
  return async (sql) => await pooled.query({ sql, ...PLAIN });
}
