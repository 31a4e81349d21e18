import { reason } from "../../../internal/reason.ts";
import { StoreError } from "../../../contract/errors.ts";

/** SQLite's result codes for a file that another connection keeps busy. */
const BUSY: readonly number[] = [5, /* SQLITE_BUSY */ 15 /* SQLITE_PROTOCOL */];

/** SQLite's messages for a busy file: Deno gives no code. */
const BUSY_MESSAGE = /database is locked|locking protocol/;

/** SQLite's messages for permanent faults, such as a damaged file. A full disk and an input/output error are none. */
const PERMANENT_MESSAGE = new RegExp([
  "file is not a database",
  "disk image is malformed",
  "readonly database",
  "unable to open database file",
  "access permission denied",
  "authorization denied",
  "no such (table|column)",
  "already exists",
  "syntax error",
  "database is not open",
].join("|"));

/** Returns whether the file is busy, because another connection writes to it, so that a retry may succeed soon. */
export function isBusy(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = Number(Reflect.get(error, "errcode"));
  return Number.isNaN(code) ? BUSY_MESSAGE.test(error.message) : BUSY.includes(code & 0xff);
}

/** Returns the error of a read or write that was not executed. */
export function storeError(path: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const message = reason(error);
  return new StoreError(`Cannot use ${path}: ${message}`, { cause: error, permanent: PERMANENT_MESSAGE.test(message) });
}
