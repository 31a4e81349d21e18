/**
 * A lock's fence inside the transaction that it protects: a stale holder's transaction is rolled back, whichever store
 * keeps the lock, and however long the holder was paused.
 *
 * The database has a table for the fences; {@linkcode guard} shows it for each kind of database.
 *
 * @example
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { guard } from "@holdfast/lock/guard";
 * import { memory } from "@holdfast/lock/memory";
 * import { DatabaseSync } from "node:sqlite";
 *
 * const database = new DatabaseSync(":memory:");
 * database.exec("CREATE TABLE holdfast_guard (name BLOB PRIMARY KEY, fence INTEGER NOT NULL)");
 * database.exec("CREATE TABLE invoices (id INTEGER PRIMARY KEY, status TEXT)");
 *
 * await using lock = await acquire(memory(), "invoice:42");
 * database.exec("BEGIN");
 * try {
 *   await guard(database, lock);
 *   database.exec("INSERT INTO invoices VALUES (42, 'paid')");
 *   database.exec("COMMIT");
 * } catch (error) {
 *   database.exec("ROLLBACK");
 *   throw error;
 * }
 * ```
 *
 * @module
 */
export type { MysqlQuery } from "../internal/sql/mysql_query.ts";
export { guard, type GuardedLock } from "./guard.ts";
export type {
  DrizzleTransaction,
  KnexTransaction,
  KyselyTransaction,
  MikroOrmTransaction,
  OrmTransaction,
  PrismaTransaction,
  SequelizeTransaction,
} from "./orms.ts";
export type {
  MysqlCallbackTransaction,
  MysqlTransaction,
  PostgresJsTransaction,
  PostgresTransaction,
  SqliteTransaction,
  Transaction,
} from "./transactions.ts";
