import type { DatabaseSync } from "node:sqlite";

/** Runs a function in a transaction: all its writes are committed or none, and nobody else writes meanwhile. */
export function transact<T>(database: DatabaseSync, work: () => T): T {
  // IMMEDIATE: a read that turned into a write could find that others have written in between.
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    try {
      database.exec("ROLLBACK");
    } catch {
      // After some errors, such as a full disk, SQLite has rolled back by itself. The first error is the one to report.
    }
    throw error;
  }
}
