import { assert, assertThrows } from "@std/assert";
import { sqlite } from "@holdfast/lock/sqlite";

// Runs in the place of the tests of the SQLite store where there is none.
Deno.test("sqlite() throws where there is no SQLite", () => {
  // Some runtimes have the module, but nothing in it.
  const error = assertThrows(() => sqlite("locks.db"), Error);
  assert(/needs node:sqlite|Cannot open "locks.db"/.test(error.message), error.message);
});
