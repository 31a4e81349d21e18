import { poolOf } from "../clients.ts";
import type { Session, SessionOptions } from "../session.ts";

/** The least that a lock in PostgreSQL can be: a row that is inserted and deleted. */
export async function open({ ports }: SessionOptions): Promise<Session> {
  const pool = await poolOf(ports);
  await pool.query("CREATE TABLE IF NOT EXISTS bare (name text PRIMARY KEY, owner text) WITH (fillfactor = 50)");
  return {
    async pair(name) {
      const owner = crypto.randomUUID();
      const { rowCount } = await pool.query(`INSERT INTO bare VALUES ('${name}', '${owner}') ON CONFLICT DO NOTHING`);
      if (rowCount !== 1) throw new Error(`${name} is taken`);
      await pool.query(`DELETE FROM bare WHERE name = '${name}' AND owner = '${owner}'`);
    },
  };
}
