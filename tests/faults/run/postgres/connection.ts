import pg from "pg";
import connect from "postgres";
import { SystemClock } from "../../../../src/time/clock.ts";
import {
  checkPostgresOptions,
  type PgClient,
  type PostgresClient,
  type PostgresJsClient,
  type PostgresOptions,
} from "../../../../src/stores/postgres/options.ts";
import { PostgresBackend } from "../../../../src/stores/postgres/store.ts";
import type { Connection } from "../engine_access.ts";

/** As whom the processes connect: the superuser is left the connections that are reserved for him. */
export const USER = "app";

/** How many connections a pool has, and how long it tries to open one, in milliseconds. */
const [MAX, CONNECT_MS] = [4, 2_000];

/** How long postgres.js pauses before it connects again, in seconds: by default it is up to 20. */
const BACKOFF = 0.1;

/** Where a client connects, and where it listens; if it does. */
interface Ports {
  readonly port: number;
  readonly listen?: number;
}

/**
 * Connects over pg, whose statements wait for so many milliseconds; over postgres.js, which has no such limit, without.
 */
export function connectTo(ports: Ports, timeout?: number): Connection<string | null> {
  return timeout === undefined ? overPostgresJs(ports) : overPg(ports, timeout);
}

function overPostgresJs({ port, listen }: Ports): Connection<string | null> {
  const open = (port: number, max: number) => {
    return connect(urlOf(port), {
      max,
      "connect_timeout": CONNECT_MS / 1_000,
      backoff: () => BACKOFF,
      // What it asks on a new connection otherwise rejects, and nobody handles that, when the connection is lost.
      "fetch_types": false,
    }) as unknown as PostgresJsClient;
  };
  const sql = open(port, MAX);
  const listener = listen === undefined || listen === port ? undefined : open(listen, 1);
  return {
    backend: backendOf(sql, { listen: listener ?? listen !== undefined }),
    close: () => {
      for (const client of [sql, listener]) void client?.end();
    },
  };
}

function overPg({ port, listen }: Ports, timeout: number): Connection<string | null> {
  const config = { connectionTimeoutMillis: Math.min(timeout, CONNECT_MS), "query_timeout": timeout };
  const pool = new pg.Pool({ ...config, connectionString: urlOf(port), max: MAX });
  // A connection that was lost while nobody used it.
  pool.on("error", () => {});
  const listener = listen === undefined ? undefined : () => {
    return new pg.Client({ ...config, connectionString: urlOf(listen) }) as PgClient;
  };
  return { backend: backendOf(pool, { listen: listener }), close: () => void pool.end() };
}

function backendOf(client: PostgresClient, options: PostgresOptions): PostgresBackend {
  return new PostgresBackend(client, checkPostgresOptions(client, options), new SystemClock());
}

function urlOf(port: number): string {
  return `postgres://${USER}@127.0.0.1:${port}/postgres`;
}
