/**
 * Locks in a table of MariaDB or MySQL, through a pool of mysql2 or of mariadb. Tested on MariaDB 10.11. The statements
 * are valid in MySQL 8 as well, which was not tested.
 *
 * @example
 * ```ts ignore
 * import { acquire } from "@holdfast/lock";
 * import { mysql } from "@holdfast/lock/mysql";
 * import { createPool } from "mysql2/promise";
 *
 * const pool = createPool("mysql://app:secret@127.0.0.1/shop");
 * const store = mysql(pool);
 * {
 *   await using lock = await acquire(store, "nightly-report");
 * }
 * await pool.end();
 * ```
 *
 * @module
 */
export { mysql, type MysqlStore } from "./store.ts";
export type { MysqlCallbackPool, MysqlOptions } from "./options.ts";
export type { MysqlPool } from "./connections.ts";
export type { MysqlQuery } from "../../internal/sql/mysql_query.ts";
