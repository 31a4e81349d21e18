import { LockLostError } from "../contract/errors.ts";
import { show } from "../internal/validation.ts";
import type { Lock } from "../lock/lock.ts";
import { type Transaction, writerOf } from "./transactions.ts";

/** The part of a lock that {@linkcode guard} needs. */
export type GuardedLock = Pick<Lock, "name" | "fence" | "held" | "mode" | "permits">;

/**
 * Writes the fence of a lock into its row of `holdfast_guard`, unless a larger one is there: then it throws, and the
 * transaction must be rolled back, as it is where the error leaves the function that was given to `begin()`.
 *
 * **It protects the reads and writes that follow it in the transaction**: call it first, outside savepoints, and change
 * a value in one statement, or read it after `guard()` with `FOR UPDATE`. A value read before may be older than the
 * last commit of the previous holder, and a rollback to an earlier savepoint undoes the fence.
 *
 * Two guarded transactions of a name follow each other in the order of their fences: the second waits for the first. So
 * a stale transaction never commits after a newer transaction.
 *
 * It accepts a transaction of postgres.js (the `sql` of `sql.begin`), pg (a `Client` after `BEGIN`) and PGlite (the
 * `tx` of `transaction()`), a connection of mysql2 and mariadb after `beginTransaction()`, and a `DatabaseSync` of
 * `node:sqlite` after `BEGIN`. On PostgreSQL it also accepts the transactions of Kysely, Drizzle, Knex, TypeORM,
 * Prisma, Sequelize and MikroORM. Make the table once, beforehand: in MySQL, `CREATE TABLE` commits the transaction
 * around it.
 *
 * ```sql
 * -- PostgreSQL:
 * CREATE TABLE holdfast_guard (name bytea PRIMARY KEY, fence bigint NOT NULL);
 * -- MySQL:
 * CREATE TABLE holdfast_guard (name VARBINARY(1024) NOT NULL PRIMARY KEY, fence BIGINT NOT NULL) ENGINE=InnoDB;
 * -- SQLite:
 * CREATE TABLE holdfast_guard (name BLOB PRIMARY KEY, fence INTEGER NOT NULL);
 * ```
 *
 * @example
 * ```ts ignore
 * import { acquire } from "@holdfast/lock";
 * import { guard } from "@holdfast/lock/guard";
 * import { createPool } from "mysql2/promise";
 * import { Redis } from "ioredis";
 *
 * const connection = await createPool("mysql://app:secret@127.0.0.1/shop").getConnection();
 * await using lock = await acquire(new Redis(), "invoice:42");
 * await connection.beginTransaction();
 * try {
 *   await guard(connection, lock);
 *   await connection.query("UPDATE invoices SET status = 'paid' WHERE id = 42");
 *   await connection.commit();
 * } catch (error) {
 *   await connection.rollback();
 *   throw error;
 * }
 * ```
 *
 * @param tx the transaction: what runs its statements
 * @param lock an exclusive lock that is held
 * @throws {LockLostError} when the lock is no longer held, or a later holder has been here; the transaction must be
 * rolled back
 * @throws {TypeError} when `tx` is none of these, or not inside a transaction, or inside a savepoint (on PostgreSQL),
 * or the lock is shared or has permits: its holders have fences of their own
 * @throws {StoreError} when there is no table `holdfast_guard` (the message has the statement that makes it); or, on
 * MySQL and MariaDB, when the snapshot of the transaction is older than what the previous holder has committed
 */
export async function guard(tx: Transaction, lock: GuardedLock): Promise<void> {
  checkLock(lock);
  const write = writerOf(tx);
  const { name, fence } = lock;
  if (!lock.held) throw lost(lock);
  if (!await write(name, fence)) {
    throw new LockLostError(`Lost lock "${name}": a later holder has written to this database, with a larger fence`);
  }
  // It may have waited for another transaction.
  if (!lock.held) throw lost(lock);
}

function checkLock(lock: GuardedLock): void {
  const { name, fence, mode, permits } = partsOf(lock);
  if (typeof name !== "string" || typeof fence !== "bigint") {
    throw new TypeError(`lock must be a Lock, as acquire() gives it: got ${show(lock)}`);
  }
  if (mode === "exclusive" && permits === undefined) return;
  const kind = permits === undefined ? "is shared" : `has ${permits} permits`;
  const why = "several hold it at a time, each with a fence of its own";
  throw new TypeError(`lock must be exclusive: lock "${name}" ${kind}, so ${why}`);
}

/** Returns the checked parts of a lock, or none of a `Proxy` whose getters are not called on the lock. */
function partsOf(lock: GuardedLock): Partial<GuardedLock> {
  try {
    const { name, fence, mode, permits } = Object(lock) as GuardedLock;
    return { name, fence, mode, permits };
  } catch {
    return {};
  }
}

function lost({ name }: GuardedLock): LockLostError {
  return new LockLostError(`Lost lock "${name}": it is no longer held`);
}
