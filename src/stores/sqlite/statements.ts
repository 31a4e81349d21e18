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

/** Whether somebody holds the lock still. */
const HELD = "expires > @now";

/** A clock that was set back must not make a lease longer than it is. */
const LEFT = "min(expires - @now, lease)";

/** Whether somebody waits still. A sign of life from the future was written before the clock was set back. */
const ALIVE = `abs(@now - seen) < ${DEAD}`;

/** Whether somebody stands in the queue before @hold, or before its end if that does not. */
const AHEAD = `name = @name AND ${ALIVE}
  AND ticket < coalesce((SELECT ticket FROM queue WHERE name = @name AND hold = @hold), 9e18)`;

/** What each statement does, with @now in milliseconds of the wall clock. */
const STATEMENTS = {
  // How many rows there are, how many of them count, what the lock is and when the first and the last lease end; the
  // fence of @owner if that holds it, and whether @hold does.
  holders:
    `SELECT count(*) AS entries, count(*) FILTER (WHERE ${HELD}) AS holds, max(kind) FILTER (WHERE ${HELD}) AS kind,
    min(${LEFT}) FILTER (WHERE ${HELD}) AS first, max(${LEFT}) AS last,
    max(fence) FILTER (WHERE owner = @owner AND ${HELD}) AS fence, max(hold = @hold AND ${HELD}) AS mine
    FROM holds WHERE name = @name`,
  // Who is ahead, and how many of those cannot hold the lock beside a @kind.
  ahead: `SELECT count(*) AS ahead, count(*) FILTER (WHERE kind <> @kind OR kind = 'exclusive') AS apart,
    (SELECT ticket FROM queue WHERE name = @name AND hold = @hold) AS ticket FROM queue WHERE ${AHEAD}`,
  // Of how many owners the permits are that are taken or will be before it is the turn of @hold.
  taken: `SELECT count(*) AS taken FROM (SELECT owner FROM holds WHERE name = @name AND ${HELD}
    UNION SELECT owner FROM queue WHERE ${AHEAD})`,
  fence: `UPDATE fences SET last = max(last + 1, CAST(@now * 1000 AS INTEGER)) RETURNING last`,
  hold: `INSERT OR REPLACE INTO holds VALUES (@name, @hold, @owner, @kind, @asked, @now + @lease, @lease, @fence)`,
  bury: `DELETE FROM holds WHERE name = @name AND NOT ${HELD}`,
  mend: `UPDATE holds SET expires = @now + lease WHERE name = @name AND expires > @now + lease`,
  renew: `UPDATE holds SET expires = @now + @lease, lease = @lease WHERE name = @name AND hold = @hold AND ${HELD}`,
  free: `DELETE FROM holds WHERE name = @name AND hold = @hold RETURNING ${HELD} AS held`,
  clear: `DELETE FROM holds WHERE name = @name`,
  evict: `UPDATE evictions SET count = count + 1`,
  evictions: `SELECT count FROM evictions`,
  held: `SELECT 1 FROM holds WHERE name = @name AND hold = @hold`,
  enqueue: `INSERT INTO queue (name, hold, owner, kind, seen) VALUES (@name, @hold, @owner, @kind, @now)
    ON CONFLICT (name, hold) DO UPDATE SET seen = excluded.seen`,
  leave: `DELETE FROM queue WHERE name = @name AND hold = @hold`,
  forget: `DELETE FROM queue WHERE name = @name AND abs(@now - seen) > ${FORGET}`,
  // One statement, so that it shows one moment.
  list: `SELECT 1 AS held, name, owner, asked AS kind, fence AS place FROM holds WHERE ${HELD}
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
