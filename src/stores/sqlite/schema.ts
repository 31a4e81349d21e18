import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../errors.ts";
import { transact } from "./transact.ts";

/** The layout of the tables that this code reads and writes. */
const LAYOUT = 2;

/** A waiter of the former layout without a sign of life for so many milliseconds is dead: it gave ten a second. */
const FORMER_DEAD_MS = 5_000;

/**
 * The tables of this layout. The file may be that of an application: the names of the tables say whose they are.
 *
 * The names of some tables and columns are older than the words of the code. They stay, because processes of the
 * versions before use the same file: with other names they would not see each other's locks. Only this file and
 * statements.ts know them.
 *
 * | in the file                   | in the code                                                                  |
 * | ----------------------------- | ---------------------------------------------------------------------------- |
 * | `holdfast_holds`              | the holders                                                                  |
 * | `hold`                        | the id of a handle                                                           |
 * | `party`                       | the key of an owner                                                          |
 * | `kind`                        | `exclusive`, `shared` or a number of permits                                 |
 * | `holdfast_clients`            | the clients: store objects that have a waiter, or had one lately             |
 * | `seen`                        | when a client wrote its last heartbeat, which counts for all its waiters     |
 * | `holdfast_evictions`          | how often holders were deleted: revoked, or expired                          |
 * | `holdfast_sweep`              | the holders of the last sweep: those behind `from`, up to `to`               |
 */
const TABLES = `
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
  INSERT INTO holdfast_layout VALUES (1, ${LAYOUT});
`;

/** The tables that both layouts have. */
const COUNTERS = `
  CREATE TABLE IF NOT EXISTS holdfast_fences (id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL) STRICT;
  INSERT OR IGNORE INTO holdfast_fences VALUES (1, 0);
  CREATE TABLE IF NOT EXISTS holdfast_evictions (id INTEGER PRIMARY KEY CHECK (id = 1), count INTEGER NOT NULL) STRICT;
  INSERT OR IGNORE INTO holdfast_evictions VALUES (1, 0);
`;

/**
 * Makes the tables if the file has none. A file of the former layout is converted once nobody uses it, and its fences
 * rise from where they were. A process of the former version that still has it open is granted no lock afterwards: its
 * statements name a column that does not exist any more.
 *
 * @throws {StoreError} when the tables are in use by the former version, or are those of another version
 */
export function ensureTables(database: DatabaseSync, now: () => number): void {
  // This only reads: a process must be able to open the file while another one writes.
  if (fits(database)) return;
  transact(database, () => {
    // Another process may have made them meanwhile.
    if (fits(database)) return;
    if (isFormer(database)) dropFormer(database, now());
    database.exec(COUNTERS);
    database.exec(TABLES);
  });
}

/** Returns whether the file has the tables of this layout; throws if it has those of another one. */
function fits(database: DatabaseSync): boolean {
  const has = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'holdfast_layout'").get() !== undefined;
  if (!has) return false;
  const version = database.prepare("SELECT version FROM holdfast_layout").get()?.["version"];
  if (version === LAYOUT) return true;
  throw new StoreError(
    `The tables for locks have layout ${version}, which another version of @holdfast/lock made; this one needs ` +
      `layout ${LAYOUT}: use the same version in all processes`,
    { permanent: true },
  );
}

/** Returns whether the file has the tables of version 0.1. */
function isFormer(database: DatabaseSync): boolean {
  const columns = database.prepare("SELECT name FROM pragma_table_info('holdfast_queue')").all();
  return columns.some(({ name }) => name === "seen");
}

/** Drops the tables of version 0.1 that have another layout now; throws while they are in use. */
function dropFormer(database: DatabaseSync, now: number): void {
  const used = database.prepare(`
    SELECT 1 FROM holdfast_holds WHERE expires > ?
    UNION ALL SELECT 1 FROM holdfast_queue WHERE abs(? - seen) < ${FORMER_DEAD_MS}`).get(now, now);
  if (used !== undefined) {
    throw new StoreError(
      "The locks of this file are in use by an earlier version of @holdfast/lock: end its processes, or wait until " +
        "their leases have ended",
    );
  }
  database.exec("DROP TABLE holdfast_holds; DROP TABLE holdfast_queue");
}
