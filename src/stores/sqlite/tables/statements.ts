import type { DatabaseSync, StatementSync } from "node:sqlite";

/**
 * After how many milliseconds without a heartbeat a client is deleted with its waiters. It may only have been stopped.
 */
export const FORGET_MS = 600_000;

/** How many rows one sweep checks, so that no transaction takes long. */
export const SWEEP_LIMIT = 100;

/** How many waiters ahead of another are counted. */
const RANK_LIMIT = 20;

/**
 * The condition that a waiter is alive in the view of one client: it is the client's own, or its client wrote a
 * heartbeat lately. A heartbeat from the future was written before the clock was set back.
 */
const ALIVE = "(q.client = ? OR abs(? - c.seen) < ?)";

/** The live waiters ahead of a ticket. Takes name, ticket, client, now, deadAfter. */
const AHEAD = `FROM holdfast_queue AS q JOIN holdfast_clients AS c ON c.id = q.client
  WHERE q.name = ? AND q.ticket < ? AND ${ALIVE}`;

/**
 * The statements. Above each statement are its values, in their order: binding by names would take longer than the
 * statements themselves. Times are in milliseconds of the wall clock. schema.ts says what the columns are.
 */
const STATEMENTS = {
  // Changes whenever another connection has written to the file.
  dataVersion: `PRAGMA data_version`,
  // ownerKey, now, now, name. All rows (entries), and those of them whose leases have not ended (holders). Of these:
  // the first and the last kind, which differ if there are several; when the first lease ends; the latest fence, and
  // that of the owner. And how many leases end later than if they began now.
  holders: `SELECT count(*) AS entries, count(*) FILTER (WHERE remaining > 0) AS holders,
    min(kind) FILTER (WHERE remaining > 0) AS kind, max(kind) FILTER (WHERE remaining > 0) AS otherKind,
    min(remaining) FILTER (WHERE remaining > 0) AS endsIn, max(fence) FILTER (WHERE remaining > 0) AS newestFence,
    max(fence) FILTER (WHERE remaining > 0 AND owner_key = ?) AS ownFence, sum(overlong) AS overlong
    FROM (SELECT *, expires - ? AS remaining, expires > ? + lease AS overlong FROM holdfast_holders WHERE name = ?)`,
  // name, now
  ownerKeys: `SELECT DISTINCT owner_key AS ownerKey FROM holdfast_holders WHERE name = ? AND expires > ?`,
  // name, handle
  ticket: `SELECT ticket FROM holdfast_queue WHERE name = ? AND handle = ?`,
  // name, ticket, client, now, deadAfter, kind. A row if a waiter ahead cannot hold the lock beside one of this kind.
  blocked: `SELECT 1 ${AHEAD} AND (q.kind <> ? OR q.kind = 'exclusive') LIMIT 1`,
  // name, now, name, ticket, client, now, deadAfter, permits. How many owners have a permit or get one before the
  // ticket's turn, counted up to the number of permits.
  permitsTaken: `SELECT count(*) AS taken FROM (SELECT owner_key FROM holdfast_holders WHERE name = ? AND expires > ?
    UNION SELECT owner_key ${AHEAD} LIMIT ?)`,
  // name, ticket. How many waiters are ahead, dead or alive, counted up to a limit.
  rank: `SELECT count(*) AS rank FROM
    (SELECT 1 FROM holdfast_queue WHERE name = ? AND ticket < ? LIMIT ${RANK_LIMIT})`,
  // name, client, now, deadAfter, limit. The first live waiters.
  first: `SELECT q.ticket, q.handle FROM holdfast_queue AS q JOIN holdfast_clients AS c ON c.id = q.client
    WHERE q.name = ? AND ${ALIVE} ORDER BY q.ticket LIMIT ?`,
  // Cut to the largest number that is exact in JavaScript.
  lastFence: `SELECT min(last, ${Number.MAX_SAFE_INTEGER}) AS last FROM holdfast_fences`,
  // fence
  raiseFence: `UPDATE holdfast_fences SET last = ?`,
  // name, handle, ownerKey, kind, expires, lease, fence, renewal, since, meta. A handle that is a holder already keeps
  // a lease that ends later, and is a holder since then.
  grant: `INSERT INTO holdfast_holders (name, handle, owner_key, kind, expires, lease, fence, renewal, since, meta)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name, handle) DO UPDATE SET
    lease = iif(excluded.expires < expires, lease, excluded.lease), expires = max(expires, excluded.expires),
    kind = excluded.kind, owner_key = excluded.owner_key, fence = excluded.fence,
    renewal = max(renewal, excluded.renewal), meta = excluded.meta`,
  // members, name, handle
  noteRun: `UPDATE holdfast_holders SET members = ? WHERE name = ? AND handle = ?`,
  // name, now
  deleteExpired: `DELETE FROM holdfast_holders WHERE name = ? AND expires <= ?`,
  // now, name, now. A clock that was set back must not make a lease longer than it is.
  capLeases: `UPDATE holdfast_holders SET expires = ? + lease WHERE name = ? AND expires > ? + lease`,
  // renewal, expires, renewal, lease, renewal, name, handle, now. A renewal with a smaller number than the last one
  // changes nothing.
  renew: `UPDATE holdfast_holders SET expires = iif(? < renewal, expires, ?), lease = iif(? < renewal, lease, ?),
    renewal = max(renewal, ?) WHERE name = ? AND handle = ? AND expires > ?`,
  // name, handle
  expiry: `SELECT expires FROM holdfast_holders WHERE name = ? AND handle = ?`,
  // name, handle
  release: `DELETE FROM holdfast_holders WHERE name = ? AND handle = ?`,
  // name, handle or null, fence or null, now. The holders that lose a lock, and whether they still held it.
  releaseHolders: `DELETE FROM holdfast_holders WHERE name = ? AND handle = ifnull(?, handle)
    AND fence = ifnull(?, fence) RETURNING expires > ? AS held`,
  countRevocation: `UPDATE holdfast_evictions SET count = count + 1`,
  revocations: `SELECT count FROM holdfast_evictions`,
  // ticket or null, name, handle, ownerKey, kind, client, since, meta. A ticket restores the place of a waiter that was
  // deleted.
  enqueue: `INSERT INTO holdfast_queue (ticket, name, handle, owner_key, kind, client, since, meta)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (name, handle) DO UPDATE SET client = excluded.client RETURNING ticket, since`,
  // handle, ownerKey, meta, name, handle. Gives the place of a waiter to another handle, unless that has one.
  succeed: `UPDATE OR IGNORE holdfast_queue SET handle = ?, owner_key = ?, meta = ? WHERE name = ? AND handle = ?`,
  // ticket
  dequeue: `DELETE FROM holdfast_queue WHERE ticket = ?`,
  // client
  dequeueClient: `DELETE FROM holdfast_queue WHERE client = ?`,
  // client, now
  addClient: `INSERT INTO holdfast_clients VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET seen = excluded.seen`,
  // now, client
  heartbeat: `UPDATE holdfast_clients SET seen = ? WHERE id = ?`,
  // client
  deleteClient: `DELETE FROM holdfast_clients WHERE id = ?`,
  // Moves on to the next holders in the order of their key. After the last ones come the first ones again.
  advanceSweep: `UPDATE holdfast_sweep SET from_name = to_name, from_handle = to_handle, (to_name, to_handle) = (
    SELECT name, handle FROM (SELECT * FROM (
      SELECT name, handle FROM holdfast_holders WHERE (name, handle) > (to_name, to_handle) ORDER BY name, handle LIMIT ${SWEEP_LIMIT})
    UNION ALL SELECT '', '') ORDER BY name DESC, handle DESC LIMIT 1)`,
  // now
  deleteSwept: `DELETE FROM holdfast_holders WHERE expires <= ?
    AND (name, handle) > (SELECT from_name, from_handle FROM holdfast_sweep)
    AND (name, handle) <= (SELECT to_name, to_handle FROM holdfast_sweep)`,
  // now
  findForgotten: `SELECT id FROM holdfast_clients WHERE abs(? - seen) > ${FORGET_MS} LIMIT 1`,
  // client
  dequeueForgotten: `DELETE FROM holdfast_queue WHERE ticket IN
    (SELECT ticket FROM holdfast_queue WHERE client = ? LIMIT ${SWEEP_LIMIT})`,
  // The names of all encodings of a file are those of a TextDecoder.
  encoding: `PRAGMA encoding`,
  // after, from, after, now, limit, after, from, after, limit, limit. The first names behind `after`, and not before
  // `from`, that have a holder or a waiter, in their order; some have a waiter that is dead. Names are read, and given,
  // as bytes: Deno reads text up to the first NUL only.
  names: `SELECT CAST(name AS BLOB) AS name FROM (
    SELECT * FROM (SELECT DISTINCT name FROM holdfast_holders
      WHERE name >= max(CAST(? AS TEXT), CAST(? AS TEXT)) AND name <> CAST(? AS TEXT) AND expires > ?
      ORDER BY name LIMIT ?)
    UNION SELECT * FROM (SELECT DISTINCT name FROM holdfast_queue
      WHERE name >= max(CAST(? AS TEXT), CAST(? AS TEXT)) AND name <> CAST(? AS TEXT)
      ORDER BY name LIMIT ?)
    ) ORDER BY 1 LIMIT ?`,
  // now, now, from, to, now, from, to, from, to, client, now, deadAfter. The holders (1) and the waiters (0) of the
  // names from one to another, and the members of the holders' runs (2) that are not in the queue again, ahead of the
  // waiters. One statement, so that it shows each name at one moment. No lease has more left than its length, not even
  // after the clock was set back.
  list: `SELECT 1 AS held, CAST(name AS BLOB) AS name, CAST(handle AS BLOB) AS handle,
      CAST(owner_key AS BLOB) AS ownerKey, kind, since, meta, fence AS place, min(expires - ?, lease) AS expiresIn
    FROM holdfast_holders WHERE expires > ? AND name >= CAST(? AS TEXT) AND name <= CAST(? AS TEXT)
    UNION ALL SELECT 2, CAST(h.name AS BLOB), CAST(m.value ->> 0 AS BLOB), CAST(m.value ->> 0 AS BLOB),
      'exclusive', m.value ->> 1, m.value ->> 2, m.key - ${Number.MAX_SAFE_INTEGER}, NULL
    FROM holdfast_holders AS h, json_each(iif(json_valid(h.members), h.members, NULL)) AS m
    WHERE h.expires > ? AND h.name >= CAST(? AS TEXT) AND h.name <= CAST(? AS TEXT)
      AND NOT EXISTS (SELECT 1 FROM holdfast_queue AS q WHERE q.name = h.name AND q.handle = m.value ->> 0)
    UNION ALL SELECT 0, CAST(q.name AS BLOB), CAST(q.handle AS BLOB), CAST(q.owner_key AS BLOB),
      q.kind, q.since, q.meta, q.ticket, NULL
    FROM holdfast_queue AS q JOIN holdfast_clients AS c ON c.id = q.client
    WHERE q.name >= CAST(? AS TEXT) AND q.name <= CAST(? AS TEXT) AND ${ALIVE}
    ORDER BY 2, place`,
} as const;

/** The statements, prepared. */
export type Statements = { readonly [statement in keyof typeof STATEMENTS]: StatementSync };

/** Prepares all statements for a file that has the tables. */
export function prepare(database: DatabaseSync): Statements {
  const prepared = Object.entries(STATEMENTS).map(([key, sql]) => [key, database.prepare(sql)]);
  return Object.fromEntries(prepared) as Statements;
}
