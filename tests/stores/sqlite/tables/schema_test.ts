import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { DatabaseSync } from "node:sqlite";
import { ensureTables } from "../../../../src/stores/sqlite/tables/schema.ts";
import { ask, claimOf, testWithFixture } from "../fixture.ts";

testWithFixture("sqlite() refuses a file of another version", async (fixture) => {
  assertEquals(await ask(fixture.a, claimOf()), true);
  await fixture.a.evict("name");
  fixture.sql("UPDATE holdfast_layout SET version = 4");
  const error = await assertRejects(() => fixture.b.attempt(claimOf(), { enqueue: true }), StoreError, "layout 4");
  assert(error.permanent);
});

testWithFixture("sqlite() opens a file that has its tables while another process writes", async (fixture) => {
  await fixture.a.query();
  using _writer = fixture.lock();
  assertEquals(await fixture.b.query(), { held: [], pending: [] });
});

testWithFixture("ensureTables() keeps tables that another process has made meanwhile", async (fixture) => {
  using database = new DatabaseSync(fixture.path);
  const holder = claimOf();
  const exec = database.exec.bind(database);
  const asking: Promise<unknown>[] = [];
  Object.assign(database, {
    exec: (sql: string) => {
      // Between reading the file and the transaction; the other process has done it when this returns.
      if (sql.startsWith("BEGIN")) asking.push(ask(fixture.a, holder));
      exec(sql);
    },
  });
  ensureTables(database);
  assertEquals(await Promise.all(asking), [true]);
  assertEquals(await fixture.a.renew(holder), "renewed");
  assert(await fixture.a.release(holder));
});
