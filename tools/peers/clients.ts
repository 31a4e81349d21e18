import { Redis, type RedisOptions } from "ioredis";
import pg from "pg";
import { LEASE } from "../../bench/bare.ts";

/** How long a command may take where a setting of the client bounds it, in milliseconds. */
const COMMAND_TIMEOUT = 250;

/** The pause between two tries and its spread, in milliseconds, where the settings are ours to choose. */
export const RETRY = { delay: 10, jitter: 5 } as const;

/** The longest number of tries, for libraries that take whole numbers only. */
export const FOR_EVER = 1_000_000_000;

export { LEASE };

/**
 * Connections to the servers. All libraries get the same ones; those with the best settings also bound each command
 * when there are several servers, which is what keeps one that hangs from holding up the others.
 */
export async function connect(ports: readonly number[], tuned: boolean): Promise<Redis[]> {
  const options: Omit<RedisOptions, "replyMapping"> = tuned && ports.length > 1
    ? { commandTimeout: COMMAND_TIMEOUT }
    : {};
  const clients = ports.map((port) => {
    const client = new Redis(port, "127.0.0.1", options);
    client.on("error", () => {});
    return client;
  });
  await Promise.all(clients.map((client) => client.ping()));
  return clients;
}

/** Returns where PostgreSQL is. */
export function postgresUrl(ports: readonly number[]): string {
  return `postgres://postgres@127.0.0.1:${ports[0]}/postgres`;
}

/** Connections to PostgreSQL, as many as the pool of pg has by default. */
export async function poolOf(ports: readonly number[]): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString: postgresUrl(ports), max: 10, idleTimeoutMillis: 0 });
  await pool.query("SELECT 1");
  return pool;
}
