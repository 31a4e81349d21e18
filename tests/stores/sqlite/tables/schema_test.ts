import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { DatabaseSync } from "node:sqlite";
import type { Claim } from "../../../../src/store.ts";
import { ensureTables } from "../../../../src/stores/sqlite/tables/schema.ts";
import { cohortOf, grantOf, handlesOf, queueUp } from "../../../support/run_claims.ts";
import { ask, claimOf, fenceOf, LEASE, Site, testOnSite } from "../site.ts";

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

/** The tables of layout 2. */
const LAYOUT_2 = `
  CREATE TABLE holdfast_fences (id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL) STRICT;
  INSERT INTO holdfast_fences VALUES (1, 0);
  CREATE TABLE holdfast_evictions (id INTEGER PRIMARY KEY CHECK (id = 1), count INTEGER NOT NULL) STRICT;
  INSERT INTO holdfast_evictions VALUES (1, 0);
  CREATE TABLE holdfast_holds (
    name TEXT NOT NULL, hold TEXT NOT NULL, party TEXT NOT NULL, kind ANY NOT NULL,
    expires REAL NOT NULL, lease REAL NOT NULL, fence INTEGER NOT NULL, renewal INTEGER NOT NULL,
    PRIMARY KEY (name, hold)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE holdfast_queue (
    ticket INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, hold TEXT NOT NULL, party TEXT NOT NULL,
    kind ANY NOT NULL, client INTEGER NOT NULL, UNIQUE (name, hold)
  ) STRICT;
  CREATE INDEX holdfast_queue_by_name ON holdfast_queue (name);
  CREATE INDEX holdfast_queue_by_client ON holdfast_queue (client);
  CREATE TABLE holdfast_clients (id INTEGER PRIMARY KEY, seen REAL NOT NULL) STRICT;
  CREATE TABLE holdfast_sweep (
    id INTEGER PRIMARY KEY CHECK (id = 1), from_name TEXT NOT NULL, from_hold TEXT NOT NULL,
    to_name TEXT NOT NULL, to_hold TEXT NOT NULL
  ) STRICT;
  INSERT INTO holdfast_sweep VALUES (1, '', '', '', '');
  CREATE TABLE holdfast_layout (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL) STRICT;
  INSERT INTO holdfast_layout VALUES (1, 2);
  PRAGMA journal_mode = WAL;
`;

/** The first words of the statements with which layout 2 attempts, renews and releases. */
const LAYOUT_2_ATTEMPT = "SELECT max(fence) FILTER (WHERE party = ?) AS ownFence FROM holdfast_holds WHERE name = ?";
const LAYOUT_2_RENEW = "UPDATE holdfast_holds SET expires = ? WHERE name = ? AND hold = ? AND expires > ?";
const LAYOUT_2_RELEASE = "DELETE FROM holdfast_holds WHERE name = ? AND hold = ?";

/** Makes a file of layout 2 with a holder and a waiter; gives their claims. */
function layout2(site: Site): { readonly holder: Claim; readonly waiter: Claim } {
  const { wall } = site.clock.now();
  const [holder, waiter] = [claimOf({ owner: "holder\0" }), claimOf({ owner: "me", handle: "me/1", permits: 3 })];
  site.sql(`${LAYOUT_2}
    INSERT INTO holdfast_holds
    VALUES ('name', 'holder' || char(0), 'holder' || char(0), 'exclusive', ${wall + LEASE}, ${LEASE}, 5, 0);
    INSERT INTO holdfast_clients VALUES (1, ${wall});
    INSERT INTO holdfast_queue VALUES (7, 'name', 'me/1', 'me/', 3, 1);
    UPDATE sqlite_sequence SET seq = 9;
    UPDATE holdfast_fences SET last = 8000000000000000`);
  return { holder, waiter };
}

/** The tables of the file and its indices, as they were made. */
function schemaOf(path: string): unknown[] {
  using database = new DatabaseSync(path);
  return database.prepare("SELECT name, sql FROM sqlite_schema WHERE name LIKE 'holdfast%' ORDER BY name").all();
}

testOnSite("sqlite() converts a file of layout 2, with its holders and waiters", async (site) => {
  const { holder, waiter } = layout2(site);
  const { held, pending } = await site.b.query();
  const unknown = { meta: undefined, since: undefined };
  const { owner } = holder;
  assertEquals(held, [
    {
      name: "name",
      owner,
      handle: owner,
      mode: "exclusive",
      permits: undefined,
      ...unknown,
      expiresIn: LEASE,
      fence: 5n,
    },
  ]);
  assertEquals(pending, [
    { name: "name", owner: "me", handle: "me/1", mode: "exclusive", permits: 3, ...unknown, rank: 0 },
  ]);
  assertEquals(await site.a.renew(holder), "renewed");
  assert(await site.a.release(holder));
  assertEquals(await fenceOf(site.a.attempt(waiter, { enqueue: true })), 8_000_000_000_000_001n);
  assert(await site.a.release(waiter));
});

testOnSite("sqlite() converts a file of layout 2 to the tables that it makes", async (site) => {
  const { holder, waiter } = layout2(site);
  await site.a.query();
  const converted = schemaOf(site.path);
  using other = new Site();
  await other.a.query();
  assertEquals(converted, schemaOf(other.path));
  for (const claim of [holder, waiter]) assert(await site.a.release(claim));
});

testOnSite("sqlite() converts a file of layout 2 so that its tickets go on", async (site) => {
  const { holder, waiter } = layout2(site);
  const last = claimOf();
  assertEquals(await ask(site.a, last), false);
  using database = new DatabaseSync(site.path);
  const tickets = database.prepare("SELECT ticket FROM holdfast_queue ORDER BY ticket").all();
  assertEquals(tickets.map(({ ticket }) => ticket), [7, 10]);
  for (const claim of [holder, waiter, last]) assert(await site.a.release(claim));
});

testOnSite("sqlite() converts a file of layout 2 beside a broken view", async (site) => {
  const { holder, waiter } = layout2(site);
  site.sql("CREATE VIEW broken AS SELECT missing FROM nowhere");
  for (const claim of [holder, waiter]) assert(await site.a.release(claim));
});

testOnSite("sqlite() leaves a process of layout 2 its locks, and grants it no other", async (site) => {
  const { holder, waiter } = layout2(site);
  using old = new DatabaseSync(site.path);
  const [attempt, renew, release] = [LAYOUT_2_ATTEMPT, LAYOUT_2_RENEW, LAYOUT_2_RELEASE].map((sql) => old.prepare(sql));
  attempt!.get("other", "name");
  await site.a.query();
  assertThrows(() => attempt!.get("other", "name"), Error, "no such column");
  const { wall } = site.clock.now();
  assertEquals(Number(renew!.run(wall + 2 * LEASE, "name", holder.owner, wall).changes), 1);
  assertEquals((await site.a.query()).held.map(({ expiresIn }) => expiresIn), [LEASE], "no more than its length");
  assertEquals(Number(release!.run("name", holder.owner).changes), 1);
  assertEquals(await ask(site.a, waiter), true);
  assert(await site.a.release(waiter));
});

testOnSite("sqlite() gives a file of layout 3 a column that it lacks, beside a broken view", async (site) => {
  const holder = claimOf();
  assertEquals(await ask(site.a, holder), true);
  site.sql("ALTER TABLE holdfast_holds DROP COLUMN members; CREATE VIEW broken AS SELECT * FROM missing");
  const members = cohortOf("name", 2);
  await queueUp(site.b, ...members);
  // A process that had the file open goes on.
  assertEquals(await site.a.renew(holder), "renewed");
  assert(await site.a.release(holder));
  assertEquals((await grantOf(site.b, members[0]!)).run, handlesOf(members.slice(1)));
  assertEquals((await site.a.query()).pending.map(({ handle, member }) => [handle, member]), [
    [members[1]!.owner, true],
  ]);
  assert(await site.b.release(members[0]!));
});

testOnSite("sqlite() refuses a file of a later version", async (site) => {
  assertEquals(await ask(site.a, claimOf()), true);
  await site.a.evict("name");
  site.sql("UPDATE holdfast_layout SET version = 4");
  const error = await assertRejects(() => site.b.attempt(claimOf(), { enqueue: true }), StoreError, "layout 4");
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
