import { StoreError } from "../../contract/errors.ts";
import { sqlStateOf } from "../../internal/sql/postgres_client.ts";
import { reason } from "../../internal/reason.ts";

/** The errors of a statement that was rolled back because another came first: serialization, deadlock, a held lock. */
const CONFLICT = /^(40001|40P01|55P03)$/;

/** The errors that no retry helps: the user or the database is unknown, or the statement is invalid or not allowed. */
const PERMANENT = /^(28|3D|42|0A|22)/;

/**
 * The errors of a prepared statement that was not executed: its name is unknown or taken, as behind a pooler, or its
 * columns have changed.
 */
const UNPREPARED: readonly string[] = ["26000", "42P05", "0A000"];

/** The errors of client libraries whose pool was closed. */
const CLOSED = /^CONNECTION_ENDED$|after calling end on the pool|PGlite is clos/;

const MISSING_TABLE = "42P01";
const MISSING_RIGHT = "42501";
const READ_ONLY = "25006";
const ABORTED = "25P02";

/** Returns whether a statement was rolled back because another came first. */
export function isConflict(error: unknown): boolean {
  return CONFLICT.test(sqlStateOf(error));
}

/** Returns whether a prepared statement was not executed, because it is no longer prepared. */
export function isUnprepared(error: unknown): boolean {
  return UNPREPARED.includes(sqlStateOf(error));
}

/** Returns whether the table is missing, or the user may not use it. */
export function isAboutTable(error: unknown): boolean {
  return [MISSING_TABLE, MISSING_RIGHT].includes(sqlStateOf(error));
}

export function isClosed(error: unknown): boolean {
  return CLOSED.test(sqlStateOf(error)) || error instanceof Error && CLOSED.test(error.message);
}

/** Returns the error for the rows of another statement. */
export function foreignAnswer(): Error {
  return new Error("The client returned the answer to another statement: it mixes up those of one connection");
}

/** Returns the error that a call rejects with: a `StoreError` if nothing was done, else the original error. */
export function failureOf(cause: unknown): unknown {
  if (cause instanceof StoreError) return cause;
  const state = sqlStateOf(cause);
  const refused = (message: string, permanent = false) => new StoreError(message, { permanent, cause });
  // The next call makes the table again, or says what is wrong with it.
  if (isAboutTable(cause)) return refused(reason(cause));
  if (state === READ_ONLY) {
    return refused(`The server takes no writes: pass a client of the primary (${reason(cause)})`);
  }
  if (state === ABORTED) {
    return refused(
      "A connection of the pool is in a transaction that has failed: end each one before its connection is released",
    );
  }
  if (/^[0-9A-Z]{5}$/.test(state) && PERMANENT.test(state)) return refused(reason(cause), true);
  // To callers both mean a wrong argument; here the connection may have failed.
  if (cause instanceof TypeError || cause instanceof RangeError) return new Error(cause.message, { cause });
  return cause;
}
