import { checkClientReceiver } from "../../internal/receiver.ts";
import { checkKeys, show } from "../../internal/validation.ts";
import type { CasOptions } from "../../engine/mod.ts";
import { MariadbConnections, Mysql2Connections, type MysqlConnections, type MysqlPool } from "./connections.ts";

/** A pool of `mysql2`, of which the store uses `promise()`. */
export interface MysqlCallbackPool {
  /** Returns the same pool, with promises. */
  promise(): MysqlPool;
}

/** The options of `mysql()`. */
export interface MysqlOptions extends CasOptions {
  /** The table, in the database of the pool; `"holdfast_locks"` when left out. */
  readonly table?: string | undefined;
}

/** The arguments of `mysql()`, checked. */
export interface MysqlSettings {
  readonly connections: MysqlConnections;
  readonly table: string;
  readonly engine: CasOptions;
}

/** How long the name of a table may be, in characters. */
const MAX_TABLE = 64;

/** Checks a pool and the options, and separates the engine's options. */
export function checkMysqlOptions(pool: MysqlPool | MysqlCallbackPool, options: MysqlOptions): MysqlSettings {
  const { table = "holdfast_locks", ...engine } = checkKeys(options, ["table", "maxClockSkew", "observer"]);
  if (typeof table !== "string") throw new TypeError(`table must be a string: got ${show(table)}`);
  // Such a name the server would cut, or refuse: a space at the end, NUL, or what is not in the first plane of Unicode.
  if (table === "" || table.length > MAX_TABLE || /[\0\ud800-\udfff]|[ ]$/.test(table)) {
    throw new RangeError(`table must be the name of a table, with at most ${MAX_TABLE} characters: got ${show(table)}`);
  }
  return { connections: connectionsOf(pool), table, engine };
}

function connectionsOf(pool: MysqlPool | MysqlCallbackPool): MysqlConnections {
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
  if (has("activeConnections")) checkClientReceiver(wanted, () => Object(pool).activeConnections());
  const pooled = has("promise") ? (pool as MysqlCallbackPool).promise() : pool as MysqlPool;
  return has("releaseConnection") ? new Mysql2Connections(pooled) : new MariadbConnections(pooled);
}
