import { createPool } from "mysql2/promise";
import { checkMysqlOptions } from "../../../../src/stores/mysql/options.ts";
import { MysqlBackend } from "../../../../src/stores/mysql/store.ts";
import type { Connection } from "../engine_access.ts";

/** As whom the processes connect: one connection more than there may be is left for the user that may do everything. */
export const USER = "app";

/** Connects to a port; for so many milliseconds at the most, or for as long as the client likes. */
export function connectTo(port: number, connectTimeout = 10_000): Connection<string | undefined> {
  const pool = createPool({ host: "127.0.0.1", port, user: USER, database: "holdfast", connectTimeout });
  return {
    backend: new MysqlBackend(checkMysqlOptions(pool, {}).connections, "holdfast_locks"),
    close: () => void pool.end().catch(() => {}), // It may be closed already.
  };
}
