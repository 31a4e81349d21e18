import type { DatabaseSync, StatementSync } from "node:sqlite";

/** A waiter that has not been seen for so many milliseconds is passed over: ten polls, for a process under load. */
const DEAD = 500;

/** After so many milliseconds the entry of a dead waiter is deleted: its machine may have been asleep. */
const FORGET = 600_000;

/** A kind is `exclusive`, `shared` or a number of permits; that of a hold is the lock's, which may not be what it asked. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS holds (
    name TEXT NOT NULL, hold TEXT NOT NULL, owner TEXT NOT NULL, kind ANY NOT NULL, asked ANY NOT NULL,
    expires REAL NOT NULL, lease REAL NOT NULL, fence INTEGER NOT NULL, PRIMARY KEY (name, hold)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS queue (
    ticket INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, hold TEXT NOT NULL, owner TEXT NOT NULL,
    kind ANY NOT NULL, seen REAL NOT NULL, UNIQUE (name, hold)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS fences (id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL) STRICT;
  INSERT OR IGNORE INTO fences VALUES (1, 0);
  CREATE TABLE IF NOT EXISTS evictions (id INTEGER PRIMARY KEY CHECK (id = 1), count INTEGER NOT NULL) STRICT;
  INSERT OR IGNORE INTO evictions VALUES (1, 0);
`;

/** Whether somebody waits still. A sign of life from the future was written before the clock was set back. */
const ALIVE = `abs(? - seen) < ${DEAD}`;

/**
 * What each statement does, and the order of what it takes; `now` is in milliseconds of the wall clock. By their order,
 * because names take longer to bind than the statements take to run.
 */
const STATEMENTS = {
  // owner, now, name: how many rows there are and how many of them count, what the lock is, when the first lease ends,
  // and the fence of the owner if that holds the lock.
  holders: `SELECT count(*) AS entries, count(*) FILTER (WHERE left > 0) AS holds,
    max(kind) FILTER (WHERE left > 0) AS kind, min(left) FILTER (WHERE left > 0) AS left,
    max(fence) FILTER (WHERE left > 0 AND owner = ?) AS fence
    FROM (SELECT *, expires - ? AS left FROM holds WHERE name = ?)`,
  // name, hold
  ticket: `SELECT ticket FROM queue WHERE name = ? AND hold = ?`,
  // kind, name, ticket, now: who is ahead, and how many of those cannot hold the lock beside one of this kind.
  ahead: `SELECT count(*) AS ahead, count(*) FILTER (WHERE kind <> ? OR kind = 'exclusive') AS apart
    FROM queue WHERE name = ? AND ticket < ? AND ${ALIVE}`,
  // name, now, name, ticket, now: the owners that have a permit or will have one before it is the ticket's turn.
  taken: `SELECT count(*) AS taken FROM (SELECT owner FROM holds WHERE name = ? AND expires > ?
    UNION SELECT owner FROM queue WHERE name = ? AND ticket < ? AND ${ALIVE})`,
  lastFence: `SELECT last FROM fences`,
  // fence
  raise: `UPDATE fences SET last = ?`,
  // name, hold, owner, kind, asked, expires, lease, fence
  hold: `INSERT OR REPLACE INTO holds VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  // name, now
  bury: `DELETE FROM holds WHERE name = ? AND expires <= ?`,
  // now, name, now: a clock that was set back must not make a lease longer than it is.
  mend: `UPDATE holds SET expires = ? + lease WHERE name = ? AND expires > ? + lease`,
  // expires, lease, name, hold, now
  renew: `UPDATE holds SET expires = ?, lease = ? WHERE name = ? AND hold = ? AND expires > ?`,
  // name, hold
  expiry: `SELECT expires FROM holds WHERE name = ? AND hold = ?`,
  // name, hold
  free: `DELETE FROM holds WHERE name = ? AND hold = ?`,
  // name, now
  count: `SELECT count(*) AS holds FROM holds WHERE name = ? AND expires > ?`,
  // name
  clear: `DELETE FROM holds WHERE name = ?`,
  evict: `UPDATE evictions SET count = count + 1`,
  evictions: `SELECT count FROM evictions`,
  // name, hold, owner, kind, now
  enqueue: `INSERT INTO queue (name, hold, owner, kind, seen) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (name, hold) DO UPDATE SET seen = excluded.seen`,
  // ticket
  leave: `DELETE FROM queue WHERE ticket = ?`,
  // name, now
  forget: `DELETE FROM queue WHERE name = ? AND abs(? - seen) > ${FORGET}`,
  // now, now: one statement, so that it shows one moment.
  list: `SELECT 1 AS held, name, owner, asked AS kind, fence AS place FROM holds WHERE expires > ?
    UNION ALL SELECT 0, name, owner, kind, ticket FROM queue WHERE ${ALIVE} ORDER BY place`,
} as const;

/** What can be run on the file. */
export type Statements = { readonly [statement in keyof typeof STATEMENTS]: StatementSync };

/** Makes what is missing in a file. */
export function prepare(database: DatabaseSync): Statements {
  // WAL: readers and the writer do not wait for each other. NORMAL: a commit outlives the process, not a power cut,
  // which no holder outlives either.
  database.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  database.exec(SCHEMA);
  const prepared = Object.entries(STATEMENTS).map(([key, sql]) => [key, database.prepare(sql)]);
  return Object.fromEntries(prepared) as Statements;
}
