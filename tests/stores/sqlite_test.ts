import { assertEquals, assertInstanceOf, assertRejects, assertThrows } from "@std/assert";
import { acquire, StoreError } from "@holdfast/lock";
import { sqlite, type SqliteStore } from "@holdfast/lock/sqlite";
import { storeSuite } from "@holdfast/lock/testing";
import { DatabaseSync } from "node:sqlite";

storeSuite({
  test: (name, run) => Deno.test(`sqlite: ${name}`, run),
  capabilities: ["shared", "permits", "owner", "steal"],
  open: () => {
    const directory = Deno.makeTempDirSync({ prefix: "holdfast_sqlite_" });
    const path = `${directory}/locks.db`;
    let stores: SqliteStore[] = [];
    const closeAll = () => {
      for (const store of stores) store.close();
      stores = [];
    };
    return {
      connect: () => {
        const store = sqlite(path);
        stores.push(store);
        return store;
      },
      leftovers: () => rows(path),
      restart: closeAll,
      close: () => {
        closeAll();
        Deno.removeSync(directory, { recursive: true });
      },
    };
  },
});

function rows(path: string): string[] {
  using database = new DatabaseSync(path);
  if (database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'waiters'").get() === undefined) return [];
  const owners = database.prepare("SELECT owner FROM locks UNION ALL SELECT owner FROM waiters").all();
  return owners.map((row) => String(row["owner"]));
}

Deno.test("sqlite() refuses what it cannot use", () => {
  assertThrows(() => sqlite(""), TypeError, 'got ""');
  assertThrows(() => sqlite(7 as never), TypeError, "got 7");
  assertThrows(() => sqlite(":memory:", { prefix: "a" } as never), TypeError, '"prefix"');
  assertThrows(() => sqlite("/nowhere/at/all.db"), Error, "/nowhere/at/all.db");
});

Deno.test("sqlite() says so where the runtime has no SQLite", () => {
  const getBuiltinModule = process.getBuiltinModule;
  process.getBuiltinModule = () => undefined as never;
  try {
    assertThrows(() => sqlite("locks.db"), Error, "node:sqlite");
  } finally {
    process.getBuiltinModule = getBuiltinModule;
  }
});

Deno.test("acquire() rejects with StoreError when the file is closed", async () => {
  const store = sqlite(":memory:");
  store.close();
  const error = await assertRejects(() => acquire(store, "a"), StoreError, "closed");
  assertEquals(error.code, "store");
  assertInstanceOf(error.cause, Error);
});
