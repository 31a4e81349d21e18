import { LockLostError } from "../errors.ts";
import { show } from "../internal/validation.ts";
import type { Lock } from "../lock.ts";
import { type Transaction, writerOf } from "./transactions.ts";

/** What {@linkcode guard} needs of a lock. */
export type GuardedLock = Pick<Lock, "name" | "fence" | "held" | "mode" | "permits">;

/**
 * Writes the fence of a lock into its row of `holdfast_fences`, unless a larger one is there: then it throws, and the
 * transaction must be rolled back, as it is where the error leaves the function that was given to `begin()`.
 *
 * Two guarded transactions of a name follow each other in the order of their fences: the second one waits for the first.
 * So a stale transaction never commits after a newer one has. Call it before the other statements of the transaction.
 *
 * It knows a transaction of postgres.js (the `sql` of `sql.begin`), pg (a `Client` after `BEGIN`) and PGlite (the `tx` of
 * `transaction()`), a connection of mysql2 and mariadb after `beginTransaction()`, and a `DatabaseSync` of `node:sqlite`
 * after `BEGIN`. Make the table once, before: in MySQL, `CREATE TABLE` commits the transaction that it is in.
 *
 * ```sql
 * CREATE TABLE holdfast_fences (name bytea PRIMARY KEY, fence bigint NOT NULL);               -- PostgreSQL
 * CREATE TABLE holdfast_fences (name VARBINARY(1024) NOT NULL PRIMARY KEY, fence BIGINT NOT NULL) ENGINE=InnoDB; -- MySQL
 * CREATE TABLE holdfast_fences (name BLOB PRIMARY KEY, fence INTEGER NOT NULL);               -- SQLite
 * ```
 *
 * @example
 * ```ts ignore
 * import { acquire } from "@holdfast/lock";
 * import { guard } from "@holdfast/lock/guard";
 * import { Redis } from "ioredis";
 * import postgres from "postgres";
 *
 * const sql = postgres();
 * await using lock = await acquire(new Redis(), "invoice:42");
 * await sql.begin(async (tx) => {
 *   await guard(tx, lock);
 *   await tx`UPDATE invoices SET status = 'paid' WHERE id = 42`;
 * });
 * ```
 *
 * @param tx the transaction: what runs its statements
 * @param lock an exclusive lock that is held
 * @throws {LockLostError} when the lock is no longer held, or a later holder has been here; the transaction must be
 * rolled back
 * @throws {TypeError} when `tx` is none of these, or not inside a transaction, or the lock is shared or has permits: its
 * holders have fences of their own
 * @throws {StoreError} when there is no table `holdfast_fences`; the message has the statement that makes it
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
  const { name, fence, mode, permits } = Object(lock) as Partial<GuardedLock>;
  if (typeof name !== "string" || typeof fence !== "bigint") {
    throw new TypeError(`lock must be a Lock, as acquire() gives it: got ${show(lock)}`);
  }
  if (mode === "exclusive" && permits === undefined) return;
  const kind = permits === undefined ? "is shared" : `has ${permits} permits`;
  const why = "several hold it at a time, each with a fence of its own";
  throw new TypeError(`lock must be exclusive: lock "${name}" ${kind}, so ${why}`);
}

function lost({ name }: GuardedLock): LockLostError {
  return new LockLostError(`Lost lock "${name}": it is no longer held`);
}
