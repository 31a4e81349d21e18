import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { DatabaseSync } from "node:sqlite";
import { ensureTables } from "../../../src/stores/sqlite/schema.ts";
import { ask, claimOf, fenceOf, LEASE, type Site, testOnSite } from "./site.ts";

/** The tables of version 0.1. */
const FORMER = `
  CREATE TABLE holdfast_holds (
    name TEXT NOT NULL, hold TEXT NOT NULL, party TEXT NOT NULL, kind ANY NOT NULL, asked ANY NOT NULL,
    expires REAL NOT NULL, lease REAL NOT NULL, fence INTEGER NOT NULL, PRIMARY KEY (name, hold)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE holdfast_queue (
    ticket INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, hold TEXT NOT NULL, party TEXT NOT NULL,
    kind ANY NOT NULL, seen REAL NOT NULL, UNIQUE (name, hold)
  ) STRICT;
  CREATE TABLE holdfast_fences (id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL) STRICT;
  INSERT INTO holdfast_fences VALUES (1, 0);
  CREATE TABLE holdfast_evictions (id INTEGER PRIMARY KEY CHECK (id = 1), count INTEGER NOT NULL) STRICT;
  INSERT INTO holdfast_evictions VALUES (1, 0);
  PRAGMA journal_mode = WAL;
`;

/** The statement with which version 0.1 reads a lock before it grants it. */
const FORMER_READ = "SELECT count(*) FROM holdfast_queue WHERE name = ? AND ticket < ? AND abs(? - seen) < 500";

function former(site: Site, rows = ""): void {
  site.sql(`${FORMER}${rows}`);
}

testOnSite("sqlite() converts an unused file of version 0.1, and its fences rise on", async (site) => {
  const { wall } = site.clock.now();
  const last = 8_000_000_000_000_000;
  former(
    site,
    `INSERT INTO holdfast_holds VALUES ('name', 'h', 'h', 'shared', 'shared', ${wall - 1}, 1000, 1);
    INSERT INTO holdfast_queue VALUES (7, 'name', 'w', 'w', 'exclusive', ${wall - 60_000});
    UPDATE holdfast_fences SET last = ${last}`,
  );
  using old = new DatabaseSync(site.path);
  const read = old.prepare(FORMER_READ);
  read.get("name", 1, wall);
  const claim = claimOf();
  assertEquals(await fenceOf(site.a.attempt(claim, { enqueue: true })), BigInt(last) + 1n);
  // A process that has it open still can read no lock, and therefore grant none.
  assertThrows(() => read.get("name", 1, wall), Error, "no such column");
  await site.a.release(claim);
});

testOnSite("sqlite() refuses a file of version 0.1 while it is in use, and no longer", async (site) => {
  const { wall } = site.clock.now();
  former(
    site,
    `INSERT INTO holdfast_holds VALUES ('name', 'h', 'h', 'exclusive', 'exclusive', ${wall + LEASE}, ${LEASE}, 1)`,
  );
  const claim = claimOf({ name: "other" });
  const error = await assertRejects(() => site.a.attempt(claim, { enqueue: true }), StoreError, "earlier version");
  assert(!error.permanent, "its leases end");
  site.sql(`DELETE FROM holdfast_holds; INSERT INTO holdfast_queue VALUES (1, 'n', 'w', 'w', 'shared', ${wall})`);
  await assertRejects(() => site.a.attempt(claim, { enqueue: true }), StoreError, "earlier version");
  await site.clock.advance(5_001);
  assertEquals(await ask(site.a, claim), true);
  await site.a.release(claim);
});

testOnSite("sqlite() converts a file of version 0.1 as soon as its use has ended", async (site) => {
  const { wall } = site.clock.now();
  former(
    site,
    `INSERT INTO holdfast_holds VALUES ('name', 'h', 'h', 'shared', 'shared', ${wall}, 1000, 1);
    INSERT INTO holdfast_queue VALUES (7, 'name', 'w', 'w', 'exclusive', ${wall - 5_000})`,
  );
  const claim = claimOf();
  assertEquals(await ask(site.a, claim), true);
  assert(await site.a.release(claim));
});

testOnSite("sqlite() refuses a file of a later version", async (site) => {
  assertEquals(await ask(site.a, claimOf()), true);
  await site.a.evict("name");
  site.sql("UPDATE holdfast_layout SET version = 3");
  const error = await assertRejects(() => site.b.attempt(claimOf(), { enqueue: true }), StoreError, "layout 3");
  assert(error.permanent);
});

testOnSite("sqlite() opens a file that has its tables while another process writes", async (site) => {
  await site.a.query();
  using _writer = site.lock();
  assertEquals(await site.b.query(), { held: [], pending: [] });
});

testOnSite("ensureTables() keeps tables that another process has made meanwhile", async (site) => {
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
  ensureTables(database, () => site.clock.now().wall);
  assertEquals(await Promise.all(asking), [true]);
  assertEquals(await site.a.renew(holder), "renewed");
  assert(await site.a.release(holder));
});
