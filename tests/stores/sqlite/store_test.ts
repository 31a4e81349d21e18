import { assert, assertEquals, assertInstanceOf, assertRejects, assertThrows } from "@std/assert";
import { delay } from "@std/async";
import { acquire, StoreError } from "@holdfast/lock";
import { sqlite } from "@holdfast/lock/sqlite";
import { storeSuite } from "@holdfast/testing";
import { writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { SystemClock } from "../../../src/time/clock.ts";
import { FileStore } from "../../../src/stores/sqlite/store.ts";
import { claimOf, rows, testWithFixture } from "./fixture.ts";
import { refused } from "../../support/refused.ts";

storeSuite({
  test: (name, run) => Deno.test(`sqlite: ${name}`, run),
  capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
  open: () => {
    const directory = Deno.makeTempDirSync({ prefix: "holdfast_sqlite_" });
    const path = `${directory}/locks.db`;
    let stores: FileStore[] = [];
    const closeAll = () => {
      for (const store of stores) store.close();
      stores = [];
    };
    return {
      connect: () => {
        const store = new FileStore(path, undefined, new SystemClock());
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

Deno.test("sqlite() throws for a wrong path or option", () => {
  assertThrows(() => sqlite(""), TypeError, 'got ""');
  assertThrows(() => sqlite("file:locks.db?mode=memory"), TypeError, '"file:locks.db?mode=memory"');
  assertThrows(() => sqlite(7 as never), TypeError, "got 7");
  assertThrows(() => sqlite(":memory:", { prefix: "a" } as never), TypeError, '"prefix"');
  assertThrows(() => sqlite("/nowhere/at/all.db"), Error, "/nowhere/at/all.db");
});

Deno.test("sqlite() takes an observer", () => {
  const observer = () => {};
  using store = sqlite(":memory:", { observer });
  assert(store.observer === observer);
  assertThrows(() => sqlite(":memory:", { observer: 7 as never }), TypeError, "observer");
});

Deno.test("sqlite() throws an error where the runtime has no SQLite", () => {
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

/** The tables of a database, with all that is in them, and how it keeps its journal. */
function contents(database: DatabaseSync): unknown {
  const tables = database.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
  const rows = tables.map(({ name }) => database.prepare(`SELECT * FROM "${name}"`).all());
  return [database.prepare("PRAGMA journal_mode").get(), tables, rows];
}

testWithFixture("sqlite() leaves the tables of an application as they are", async (fixture) => {
  using database = new DatabaseSync(fixture.path);
  for (const table of ["holds", "queue", "fences", "evictions", "locks"]) {
    database.exec(`CREATE TABLE ${table} (id INTEGER PRIMARY KEY, last INTEGER, count INTEGER)`);
    database.exec(`INSERT INTO ${table} VALUES (1, 7, 7)`);
  }
  const tables = () =>
    database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all()
      .map(({ name }) => String(name)).filter((name) => !name.startsWith("holdfast_"));
  const rows = () => tables().map((name) => database.prepare(`SELECT * FROM ${name}`).get());
  const before = rows();
  await (await acquire(fixture.a, "name")).release();
  assertEquals(await fixture.a.evict("name"), 0);
  assertEquals(rows(), before);
});

testWithFixture("sqlite() leaves a file that does not fit as it was", async (fixture) => {
  using database = new DatabaseSync(fixture.path);
  database.exec("CREATE TABLE holdfast_queue (id INTEGER PRIMARY KEY)");
  const before = contents(database);
  await refused(() => fixture.a.attempt(claimOf(), { enqueue: true }), "already exists");
  assertEquals(contents(database), before);
  database.exec("DROP TABLE holdfast_queue");
  await (await acquire(fixture.a, "name")).release();
});

Deno.test("sqlite() opens a file that is no database, and rejects at the first use", async () => {
  const directory = Deno.makeTempDirSync({ prefix: "holdfast_sqlite_" });
  const path = `${directory}/locks.db`;
  try {
    writeFileSync(path, "no database at all".repeat(100));
    using store = sqlite(path);
    await assertRejects(() => store.query(), Error, "not a database");
    await assertRejects(() => store.attempt(claimOf(), { enqueue: true }), Error, "not a database");
  } finally {
    Deno.removeSync(directory, { recursive: true });
  }
});

testWithFixture(
  "attempt() that waited for the file does not cut a lease renewed meanwhile",
  async (fixture) => {
    using store = sqlite(fixture.path);
    const holder = claimOf();
    await store.attempt(holder, { enqueue: false });
    using database = new DatabaseSync(fixture.path);
    database.exec("BEGIN IMMEDIATE");
    const waiter = claimOf();
    const attempt = store.attempt(waiter, { enqueue: true });
    await delay(20);
    const expires = Date.now() + holder.lease;
    database.prepare("UPDATE holdfast_holders SET expires = ?").run(expires);
    database.exec("COMMIT");
    assertEquals((await attempt).granted, false);
    assertEquals(database.prepare("SELECT expires FROM holdfast_holders").get()?.["expires"], expires);
    await store.release(holder);
    await store.release(waiter);
  },
);

Deno.test("sqlite() of a file that cannot be opened throws a permanent StoreError", () => {
  const path = `${Deno.makeTempDirSync({ prefix: "holdfast_" })}/missing/locks.db`;
  const error = assertThrows(() => sqlite(path), StoreError, ": unable to open database file");
  // A long path is cut.
  assert(error.message.startsWith(`Cannot open "${path.slice(0, 20)}`), error.message);
  assertEquals([error.code, error.permanent], ["store", true]);
  assert(error.message.endsWith("Its directory must exist, and be writable"), error.message);
  assertInstanceOf(error.cause, Error);
});
