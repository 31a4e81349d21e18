import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../../errors.ts";
import { transact } from "../file/transact.ts";

/** The layout of the tables that this code reads and writes. */
const LAYOUT = 3;

/** The layout before it, of which the holders and the waiters are kept. */
const FORMER_LAYOUT = 2;

/** A waiter of version 0.1 without a sign of life for so many milliseconds is dead: it gave ten a second. */
const FIRST_DEAD_MS = 5_000;

/**
 * The holders and the waiters. The file may be that of an application: the names of the tables say whose they are.
 *
 * The names of some tables and columns are older than the words of the code. They stay, because a process of the layout
 * before may still renew and release its locks in the file. Only this file and statements.ts know them.
 *
 * | in the file                   | in the code                                                                  |
 * | ----------------------------- | ---------------------------------------------------------------------------- |
 * | `holdfast_holds`              | the holders                                                                  |
 * | `hold`                        | the id of a handle                                                           |
 * | `owner_key`                   | the key of an owner; `party` in the layouts before                           |
 * | `kind`                        | `exclusive`, `shared` or a number of permits                                 |
 * | `since`                       | since when it holds the lock or waits for it; unknown of the layout before   |
 * | `meta`                        | what describes the handle; late, because it may be long and is rarely read   |
 * | `members`                     | JSON, the run of a holder: of each member its handle, its `since`, its meta  |
 * | `holdfast_clients`            | the clients: store objects that have a waiter, or had one lately             |
 * | `seen`                        | when a client wrote its last heartbeat, which counts for all its waiters     |
 * | `holdfast_evictions`          | how often holders were deleted: revoked, or expired                          |
 * | `holdfast_sweep`              | the holders of the last sweep: those behind `from`, up to `to`               |
 */
const HANDLES = `
  CREATE TABLE holdfast_holds (
    name TEXT NOT NULL, hold TEXT NOT NULL, owner_key TEXT NOT NULL, kind ANY NOT NULL,
    expires REAL NOT NULL, lease REAL NOT NULL, fence INTEGER NOT NULL, renewal INTEGER NOT NULL,
    since REAL, meta TEXT, members TEXT, PRIMARY KEY (name, hold)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE holdfast_queue (
    ticket INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, hold TEXT NOT NULL, owner_key TEXT NOT NULL,
    kind ANY NOT NULL, client INTEGER NOT NULL, since REAL, meta TEXT, UNIQUE (name, hold)
  ) STRICT;
  CREATE INDEX holdfast_queue_by_name ON holdfast_queue (name);
  CREATE INDEX holdfast_queue_by_client ON holdfast_queue (client);
`;

/** All that layouts 2 and 3 have and version 0.1 has not. */
const TABLES = `${HANDLES}
  CREATE TABLE holdfast_clients (id INTEGER PRIMARY KEY, seen REAL NOT NULL) STRICT;
  CREATE TABLE holdfast_sweep (
    id INTEGER PRIMARY KEY CHECK (id = 1), from_name TEXT NOT NULL, from_hold TEXT NOT NULL,
    to_name TEXT NOT NULL, to_hold TEXT NOT NULL
  ) STRICT;
  INSERT INTO holdfast_sweep VALUES (1, '', '', '', '');
  CREATE TABLE holdfast_layout (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL) STRICT;
  INSERT INTO holdfast_layout VALUES (1, ${LAYOUT});
`;

/** The tables that all layouts have. */
const COUNTERS = `
  CREATE TABLE IF NOT EXISTS holdfast_fences (id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL) STRICT;
  INSERT OR IGNORE INTO holdfast_fences VALUES (1, 0);
  CREATE TABLE IF NOT EXISTS holdfast_evictions (id INTEGER PRIMARY KEY CHECK (id = 1), count INTEGER NOT NULL) STRICT;
  INSERT OR IGNORE INTO holdfast_evictions VALUES (1, 0);
`;

/**
 * Copies the holders and the waiters of layout 2 into tables of this one. Not by ALTER TABLE RENAME COLUMN: that fails
 * if the application has a view that is broken. The tickets go on from where they were, as a process of layout 2 may
 * still delete waiters by their tickets.
 */
const CONVERSION = `
  CREATE TEMP TABLE holdfast_former_holds AS SELECT * FROM holdfast_holds;
  CREATE TEMP TABLE holdfast_former_queue AS SELECT * FROM holdfast_queue;
  CREATE TEMP TABLE holdfast_former_tickets AS SELECT seq FROM sqlite_sequence WHERE name = 'holdfast_queue';
  DROP TABLE holdfast_holds;
  DROP TABLE holdfast_queue;
  ${HANDLES}
  INSERT INTO holdfast_holds (name, hold, owner_key, kind, expires, lease, fence, renewal)
    SELECT name, hold, party, kind, expires, lease, fence, renewal FROM holdfast_former_holds;
  INSERT INTO holdfast_queue (ticket, name, hold, owner_key, kind, client)
    SELECT ticket, name, hold, party, kind, client FROM holdfast_former_queue;
  DELETE FROM sqlite_sequence WHERE name = 'holdfast_queue';
  INSERT INTO sqlite_sequence (name, seq) SELECT 'holdfast_queue', seq FROM holdfast_former_tickets;
  DROP TABLE holdfast_former_holds;
  DROP TABLE holdfast_former_queue;
  DROP TABLE holdfast_former_tickets;
  UPDATE holdfast_layout SET version = ${LAYOUT};
`;

/**
 * Makes the tables if the file has none.
 *
 * A file of layout 2 is converted, with its holders and waiters. A process of that layout that has it open goes on to
 * renew and release what it holds. Its attempts, and those of its waiters, reject at once: they name the column `party`,
 * which does not exist any more.
 *
 * A file of version 0.1 is converted once nobody uses it, and its fences rise from where they were. A process of that
 * version that still has it open is granted no lock afterwards: its statements name a column that does not exist any
 * more.
 *
 * @throws {StoreError} when the tables are in use by version 0.1, or are those of another version
 */
export function ensureTables(database: DatabaseSync, now: () => number): void {
  // This only reads: a process must be able to open the file while another one writes.
  if (layoutOf(database) === LAYOUT && hasMembers(database)) return;
  transact(database, () => {
    // Another process may have made them meanwhile.
    const layout = layoutOf(database);
    if (layout === LAYOUT) return addMembers(database);
    if (layout === FORMER_LAYOUT) return database.exec(CONVERSION);
    if (isFirst(database)) dropFirst(database, now());
    database.exec(COUNTERS);
    database.exec(TABLES);
  });
}

/** Returns the layout of the tables; `undefined` without tables, and for those of version 0.1. */
function layoutOf(database: DatabaseSync): typeof LAYOUT | typeof FORMER_LAYOUT | undefined {
  const has = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'holdfast_layout'").get() !== undefined;
  if (!has) return undefined;
  const version = database.prepare("SELECT version FROM holdfast_layout").get()?.["version"];
  if (version === LAYOUT || version === FORMER_LAYOUT) return version;
  throw new StoreError(
    `The tables for locks have layout ${version}, which another version of @holdfast/lock made; this one needs ` +
      `layout ${LAYOUT}: use the same version in all processes`,
    { permanent: true },
  );
}

/** Returns whether the holders have the column that the first versions of layout 3 had not; these ignore it. */
function hasMembers(database: DatabaseSync): boolean {
  const columns = database.prepare("SELECT name FROM pragma_table_info('holdfast_holds')").all();
  return columns.some(({ name }) => name === "members");
}

function addMembers(database: DatabaseSync): void {
  if (!hasMembers(database)) database.exec("ALTER TABLE holdfast_holds ADD COLUMN members TEXT");
}

/** Returns whether the file has the tables of version 0.1. */
function isFirst(database: DatabaseSync): boolean {
  const columns = database.prepare("SELECT name FROM pragma_table_info('holdfast_queue')").all();
  return columns.some(({ name }) => name === "seen");
}

/** Drops the tables of version 0.1 that have another layout now; throws while they are in use. */
function dropFirst(database: DatabaseSync, now: number): void {
  const used = database.prepare(`
    SELECT 1 FROM holdfast_holds WHERE expires > ?
    UNION ALL SELECT 1 FROM holdfast_queue WHERE abs(? - seen) < ${FIRST_DEAD_MS}`).get(now, now);
  if (used !== undefined) {
    throw new StoreError(
      "The locks of this file are in use by an earlier version of @holdfast/lock: end its processes, or wait until " +
        "their leases have ended",
    );
  }
  database.exec("DROP TABLE holdfast_holds; DROP TABLE holdfast_queue");
}
