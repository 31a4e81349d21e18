import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../../contract/errors.ts";
import { transact } from "../file/transact.ts";

/** The layout of the tables that this code reads and writes. */
const LAYOUT = 1;

/**
 * The tables. The file may be the database of an application, so the names begin with `holdfast_`. Only this file and
 * statements.ts know them.
 *
 * | table or column      | meaning                                                                                 |
 * | -------------------- | --------------------------------------------------------------------------------------- |
 * | `handle`             | the id of a handle                                                                      |
 * | `owner_key`          | the key of an owner                                                                     |
 * | `kind`               | `exclusive`, `shared` or a number of permits                                            |
 * | `since`              | since when it holds the lock or waits for it                                            |
 * | `meta`               | what describes the handle; a late column, because it may be long and is rarely read     |
 * | `members`            | JSON, the run of a holder: of each member its handle, its `since`, its meta             |
 * | `holdfast_clients`   | the clients: store objects that have a waiter, or had one lately                        |
 * | `seen`               | when a client wrote its last heartbeat, which counts for all its waiters                |
 * | `holdfast_evictions` | how often holders were deleted: revoked, or expired                                     |
 * | `holdfast_sweep`     | the holders of the last sweep: those behind `from`, up to `to`                          |
 */
const TABLES = `
  CREATE TABLE holdfast_holders (
    name TEXT NOT NULL, handle TEXT NOT NULL, owner_key TEXT NOT NULL, kind ANY NOT NULL,
    expires REAL NOT NULL, lease REAL NOT NULL, fence INTEGER NOT NULL, renewal INTEGER NOT NULL,
    since REAL, meta TEXT, members TEXT, PRIMARY KEY (name, handle)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE holdfast_queue (
    ticket INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, handle TEXT NOT NULL, owner_key TEXT NOT NULL,
    kind ANY NOT NULL, client INTEGER NOT NULL, since REAL, meta TEXT, UNIQUE (name, handle)
  ) STRICT;
  CREATE INDEX holdfast_queue_by_name ON holdfast_queue (name);
  CREATE INDEX holdfast_queue_by_client ON holdfast_queue (client);
  CREATE TABLE holdfast_clients (id INTEGER PRIMARY KEY, seen REAL NOT NULL) STRICT;
  CREATE TABLE holdfast_fences (id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL) STRICT;
  INSERT INTO holdfast_fences VALUES (1, 0);
  CREATE TABLE holdfast_evictions (id INTEGER PRIMARY KEY CHECK (id = 1), count INTEGER NOT NULL) STRICT;
  INSERT INTO holdfast_evictions VALUES (1, 0);
  CREATE TABLE holdfast_sweep (
    id INTEGER PRIMARY KEY CHECK (id = 1), from_name TEXT NOT NULL, from_handle TEXT NOT NULL,
    to_name TEXT NOT NULL, to_handle TEXT NOT NULL
  ) STRICT;
  INSERT INTO holdfast_sweep VALUES (1, '', '', '', '');
  CREATE TABLE holdfast_layout (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL) STRICT;
  INSERT INTO holdfast_layout VALUES (1, ${LAYOUT});
`;

/**
 * Makes the tables if the file has none.
 *
 * @throws {StoreError} when the tables have the layout of another version
 */
export function ensureTables(database: DatabaseSync): void {
  // This only reads: a process must be able to open the file while another one writes.
  if (hasTables(database)) return;
  transact(database, () => {
    // Another process may have made them meanwhile.
    if (!hasTables(database)) database.exec(TABLES);
  });
}

/** Returns whether there are tables of this layout; throws for tables of another layout. */
function hasTables(database: DatabaseSync): boolean {
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
