import type { DatabaseSync, StatementSync } from "node:sqlite";
import { transact } from "./transact.ts";

/** A waiter that has not been seen for so many milliseconds is passed over: ten polls, for a process under load. */
export const DEAD = 500;

/** After so many milliseconds the entry of a dead waiter is deleted: its machine may have been asleep. */
const FORGET = 600_000;

/**
 * A kind is `exclusive`, `shared` or a number of permits; that of a hold is the lock's, which may not be what it asked.
 * The file may be that of an application: the names of the tables say whose they are.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS holdfast_holds (
    name TEXT NOT NULL, hold TEXT NOT NULL, party TEXT NOT NULL, kind ANY NOT NULL, asked ANY NOT NULL,
    expires REAL NOT NULL, lease REAL NOT NULL, fence INTEGER NOT NULL, PRIMARY KEY (name, hold)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS holdfast_queue (
    ticket INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, hold TEXT NOT NULL, party TEXT NOT NULL,
    kind ANY NOT NULL, seen REAL NOT NULL, UNIQUE (name, hold)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS holdfast_fences (id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL) STRICT;
  INSERT OR IGNORE INTO holdfast_fences VALUES (1, 0);
  CREATE TABLE IF NOT EXISTS holdfast_evictions (id INTEGER PRIMARY KEY CHECK (id = 1), count INTEGER NOT NULL) STRICT;
  INSERT OR IGNORE INTO holdfast_evictions VALUES (1, 0);
`;

/** Whether somebody waits still. A sign of life from the future was written before the clock was set back. */
const ALIVE = `abs(? - seen) < ${DEAD}`;

/**
 * What each statement does, and the order of what it takes; `now` is in milliseconds of the wall clock. By their order,
 * because names take longer to bind than the statements take to run.
 */
const STATEMENTS = {
  // party, now, now, name: how many rows there are and how many of them count, what the lock is, when the first lease
  // ends, the fence of the party if that holds the lock, and how many leases end later than if they began now.
  holders: `SELECT count(*) AS entries, count(*) FILTER (WHERE left > 0) AS holds,
    max(kind) FILTER (WHERE left > 0) AS kind, min(left) FILTER (WHERE left > 0) AS left,
    max(fence) FILTER (WHERE left > 0 AND party = ?) AS fence, sum(late) AS late
    FROM (SELECT *, expires - ? AS left, expires > ? + lease AS late FROM holdfast_holds WHERE name = ?)`,
  // name, hold
  ticket: `SELECT ticket FROM holdfast_queue WHERE name = ? AND hold = ?`,
  // kind, name, ticket, now: who is ahead, and how many of those cannot hold the lock beside one of this kind.
  ahead: `SELECT count(*) AS ahead, count(*) FILTER (WHERE kind <> ? OR kind = 'exclusive') AS apart
    FROM holdfast_queue WHERE name = ? AND ticket < ? AND ${ALIVE}`,
  // name, now, name, ticket, now: the parties that have a permit or will have one before it is the ticket's turn.
  taken: `SELECT count(*) AS taken FROM (SELECT party FROM holdfast_holds WHERE name = ? AND expires > ?
    UNION SELECT party FROM holdfast_queue WHERE name = ? AND ticket < ? AND ${ALIVE})`,
  lastFence: `SELECT last FROM holdfast_fences`,
  // fence
  raise: `UPDATE holdfast_fences SET last = ?`,
  // name, hold, party, kind, asked, expires, lease, fence
  hold: `INSERT OR REPLACE INTO holdfast_holds VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  // name, now
  bury: `DELETE FROM holdfast_holds WHERE name = ? AND expires <= ?`,
  // now, name, now: a clock that was set back must not make a lease longer than it is.
  mend: `UPDATE holdfast_holds SET expires = ? + lease WHERE name = ? AND expires > ? + lease`,
  // expires, lease, name, hold, now
  renew: `UPDATE holdfast_holds SET expires = ?, lease = ? WHERE name = ? AND hold = ? AND expires > ?`,
  // name, hold
  expiry: `SELECT expires FROM holdfast_holds WHERE name = ? AND hold = ?`,
  // name, hold
  free: `DELETE FROM holdfast_holds WHERE name = ? AND hold = ?`,
  // name, now
  count: `SELECT count(*) AS holds FROM holdfast_holds WHERE name = ? AND expires > ?`,
  // name
  clear: `DELETE FROM holdfast_holds WHERE name = ?`,
  evict: `UPDATE holdfast_evictions SET count = count + 1`,
  evictions: `SELECT count FROM holdfast_evictions`,
  // ticket or null, name, hold, party, kind, now: one that has a ticket gets its place back if it was forgotten.
  enqueue: `INSERT INTO holdfast_queue (ticket, name, hold, party, kind, seen) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (name, hold) DO UPDATE SET seen = excluded.seen RETURNING ticket`,
  // ticket
  leave: `DELETE FROM holdfast_queue WHERE ticket = ?`,
  // now
  forget: `DELETE FROM holdfast_queue WHERE abs(? - seen) > ${FORGET}`,
  // now, now: one statement, so that it shows one moment.
  list: `SELECT 1 AS held, name, party, asked AS kind, fence AS place FROM holdfast_holds WHERE expires > ?
    UNION ALL SELECT 0, name, party, kind, ticket FROM holdfast_queue WHERE ${ALIVE} ORDER BY place`,
} as const;

/** What can be run on the file. */
export type Statements = { readonly [statement in keyof typeof STATEMENTS]: StatementSync };

/** Makes what is missing in a file. One that does not fit is left as it was. */
export function prepare(database: DatabaseSync): Statements {
  // NORMAL: a commit outlives the process, not a power cut, which no holder outlives either.
  database.exec("PRAGMA busy_timeout = 0; PRAGMA synchronous = NORMAL");
  const statements = transact(database, () => {
    database.exec(SCHEMA);
    const prepared = Object.entries(STATEMENTS).map(([key, sql]) => [key, database.prepare(sql)]);
    return Object.fromEntries(prepared) as Statements;
  });
  // WAL: readers and the writer do not wait for each other. Last, as it changes a file for good, and in no transaction.
  database.exec("PRAGMA journal_mode = WAL");
  return statements;
}
