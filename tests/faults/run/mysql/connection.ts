import { createPool, type Pool } from "mysql2/promise";
import { checkMysqlOptions } from "../../../../src/stores/mysql/options.ts";
import { MysqlBackend } from "../../../../src/stores/mysql/store.ts";

/** A pool, and what the engine keeps its documents in over it. */
export interface Connection {
  readonly pool: Pool;
  readonly backend: MysqlBackend;
}

/** Connects to a port; for so many milliseconds at the most, or for as long as the client likes. */
export function connectTo(port: number, connectTimeout = 10_000): Connection {
  const pool = createPool({ host: "127.0.0.1", port, user: "root", database: "holdfast", connectTimeout });
  return { pool, backend: new MysqlBackend(checkMysqlOptions(pool, {}).run, "holdfast_locks") };
}
