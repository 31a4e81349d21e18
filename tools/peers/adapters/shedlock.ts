import { LEASE, poolOf, RETRY } from "../clients.ts";
import { pause } from "../../../bench/pause.ts";
import type { Session, SessionOptions } from "../session.ts";

/**
 * The table of ShedLock, and its statements: a row for each name that stays, with the moment until which it is locked.
 */
const TABLE = "CREATE TABLE IF NOT EXISTS shedlock (name varchar(64) PRIMARY KEY, lock_until timestamp NOT NULL, " +
  "locked_at timestamp NOT NULL, locked_by varchar(255) NOT NULL)";
const LOCK = "INSERT INTO shedlock (name, lock_until, locked_at, locked_by) " +
  "VALUES ($1, timezone('utc', CURRENT_TIMESTAMP) + $2 * interval '1 millisecond', " +
  "timezone('utc', CURRENT_TIMESTAMP), $3) ON CONFLICT (name) DO UPDATE SET lock_until = excluded.lock_until, " +
  "locked_at = excluded.locked_at, locked_by = excluded.locked_by " +
  "WHERE shedlock.lock_until <= timezone('utc', CURRENT_TIMESTAMP)";
const UNLOCK = "UPDATE shedlock SET lock_until = timezone('utc', CURRENT_TIMESTAMP) WHERE name = $1 AND locked_by = $2";

/** It is a library for Java, which skips what it cannot lock: here it is repeated. */
export async function open({ ports }: SessionOptions): Promise<Session> {
  const pool = await poolOf(ports);
  await pool.query(TABLE);
  return {
    async lock(name, lease = LEASE) {
      const owner = crypto.randomUUID();
      while ((await pool.query(LOCK, [name, lease, owner])).rowCount !== 1) {
        await pause(RETRY.delay + (Math.random() * 2 - 1) * RETRY.jitter);
      }
      return () => pool.query(UNLOCK, [name, owner]);
    },
  };
}
