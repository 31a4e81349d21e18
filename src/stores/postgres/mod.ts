/**
 * Locks in a table of a PostgreSQL database, over postgres.js, `Pool` of pg, or PGlite.
 *
 * @example
 * ```ts ignore
 * import { acquire } from "@holdfast/lock";
 * import { postgres } from "@holdfast/lock/postgres";
 * import connect from "postgres";
 *
 * const sql = connect("postgres://app@db.example.com/shop");
 * const store = postgres(sql, { listen: true });
 * await using lock = await acquire(store, "nightly-report", { wait: 1_000 });
 * ```
 *
 * @module
 */
export { postgres, type PostgresStore } from "./store.ts";
export type { PgClient, PgliteClient, PgPool, PostgresClient, PostgresJsClient, PostgresOptions } from "./options.ts";
export type { QueryClient, SqlRow, UnsafeClient } from "../../internal/sql/postgres_client.ts";
