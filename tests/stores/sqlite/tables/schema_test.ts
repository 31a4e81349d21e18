import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { DatabaseSync } from "node:sqlite";
import { ensureTables } from "../../../../src/stores/sqlite/tables/schema.ts";
import { ask, claimOf, testWithFixture } from "../fixture.ts";

testWithFixture("sqlite() refuses a file of another version", async (site) => {
  assertEquals(await ask(site.a, claimOf()), true);
  await site.a.evict("name");
  site.sql("UPDATE holdfast_layout SET version = 4");
  const error = await assertRejects(() => site.b.attempt(claimOf(), { enqueue: true }), StoreError, "layout 4");
  assert(error.permanent);
});

testWithFixture("sqlite() opens a file that has its tables while another process writes", async (site) => {
  await site.a.query();
  using _writer = site.lock();
  assertEquals(await site.b.query(), { held: [], pending: [] });
});

testWithFixture("ensureTables() keeps tables that another process has made meanwhile", async (site) => {
  using database = new DatabaseSync(site.path);
  const holder = claimOf();
  const exec = database.exec.bind(database);
  const asking: Promise<unknown>[] = [];
  Object.assign(database, {
    exec: (sql: string) => {
      // Between reading the file and the transaction; the other process has done it when this returns.
      if (sql.startsWith("BEGIN")) asking.push(ask(site.a, holder));
      exec(sql);
    },
  });
  ensureTables(database);
  assertEquals(await Promise.all(asking), [true]);
  assertEquals(await site.a.renew(holder), "renewed");
  assert(await site.a.release(holder));
});
