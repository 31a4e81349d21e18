import { assert, assertEquals } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { isBusy, storeError } from "../../../../src/stores/sqlite/file/errors.ts";

/** An error of SQLite, with its result code as Node gives it. */
function sqliteError(message: string, errcode?: number): Error {
  return Object.assign(new Error(message), errcode === undefined ? {} : { errcode });
}

Deno.test("isBusy() goes by the result code, and without one by the message", () => {
  for (const code of [5, 15, 5 | 1 << 8, 5 | 2 << 8, 5 | 3 << 8]) assert(isBusy(sqliteError("some words", code)));
  for (const code of [1, 4, 6, 8, 10, 11, 13, 30]) assert(!isBusy(sqliteError("database is locked", code)), `${code}`);
  for (const words of ["database is locked", "locking protocol"]) assert(isBusy(sqliteError(words)));
  assert(!isBusy(sqliteError("database table is damaged")));
  assert(!isBusy("database is locked"));
  assert(!isBusy(undefined));
});

Deno.test("storeError() names the file and what happened", () => {
  const cause = sqliteError("attempt to write a readonly database");
  const error = storeError('"a.db"', cause);
  assertEquals(error.message, 'Cannot use "a.db": attempt to write a readonly database');
  assertEquals([error.permanent, error.cause], [true, cause]);
  assertEquals(storeError('"a.db"', sqliteError("database or disk is full")).permanent, false);
  assertEquals(storeError('"a.db"', "some words").message, 'Cannot use "a.db": some words');
  const own = new StoreError("of the store itself");
  assert(storeError('"a.db"', own) === own);
});
