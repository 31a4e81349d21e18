import { assertEquals, assertInstanceOf, assertRejects, assertThrows } from "@std/assert";
import { delay } from "@std/async";
import { acquire, StoreError } from "@holdfast/lock";
import { sqlite, type SqliteStore } from "@holdfast/lock/sqlite";
import { storeSuite } from "@holdfast/lock/testing";
import { DatabaseSync } from "node:sqlite";
import { claimOf, rows, testOnSite } from "./site.ts";

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

testOnSite("sqlite() opens a file of the first version, which knew exclusive locks only", async (site) => {
  using database = new DatabaseSync(site.path);
  database.exec(`
    CREATE TABLE locks (
      name TEXT PRIMARY KEY, owner TEXT NOT NULL, expires REAL NOT NULL, lease REAL NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE waiters (
      ticket INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, owner TEXT NOT NULL, seen REAL NOT NULL,
      UNIQUE (name, owner)
    ) STRICT;
    CREATE TABLE fences (id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL) STRICT;
    INSERT INTO fences VALUES (1, 8000000000000000);
  `);
  await using lock = await acquire(site.a, "name");
  assertEquals(lock.fence, 8_000_000_000_000_001n);
});

testOnSite(
  "attempt() that had to wait for the file does not cut short a lease that was renewed meanwhile",
  async (site) => {
    using store = sqlite(site.path);
    const holder = claimOf();
    await store.attempt(holder, { enqueue: false });
    using database = new DatabaseSync(site.path);
    database.exec("BEGIN IMMEDIATE");
    const waiter = claimOf();
    const attempt = store.attempt(waiter, { enqueue: true });
    await delay(20);
    const expires = Date.now() + holder.lease;
    database.prepare("UPDATE holds SET expires = ?").run(expires);
    database.exec("COMMIT");
    assertEquals((await attempt).granted, false);
    assertEquals(database.prepare("SELECT expires FROM holds").get()?.["expires"], expires);
    await store.release(holder);
    await store.release(waiter);
  },
);
