import { PGlite } from "@electric-sql/pglite";
import pg from "pg";
import connect from "postgres";
import type { PgClient, PostgresClient, PostgresJsClient, PostgresOptions } from "@holdfast/lock/postgres";
import { runPostgres } from "../../../src/internal/sql/postgres_client.ts";
import { inTime } from "../../support/in_time.ts";

/** The client libraries that connect to a server. */
export const LIBRARIES = ["postgres.js", "pg"] as const;

/** One of them. */
export type Library = typeof LIBRARIES[number];

/** A client of a test. */
export interface TestClient extends AsyncDisposable {
  readonly client: PostgresClient;
  /** What the option `listen` is to be. */
  readonly listen: NonNullable<PostgresOptions["listen"]>;
  /** Returns how many connections listen that do not end with the client. */
  readonly listening: () => number;
}

/** Connects with a library. Settings are those of a session, such as `lock_timeout`. */
export function connectWith(library: Library, url: string, settings: Record<string, string> = {}): TestClient {
  return library === "pg" ? overPg(url, settings) : overPostgresJs(url, settings);
}

function overPostgresJs(url: string, settings: Record<string, string>): TestClient {
  const sql = connect(url, { connection: settings, onnotice: () => {}, max: 4, connect_timeout: 5 });
  const opened: PromiseLike<unknown>[] = [];
  const { listen } = sql;
  sql.listen = (...args) => {
    const request = listen(...args);
    opened.push(request.catch(() => {}));
    return request;
  };
  return {
    client: sql as unknown as PostgresJsClient,
    listen: true,
    listening: () => 0,
    [Symbol.asyncDispose]: async () => {
      // One that is closed while it connects leaves a timer of postgres.js behind.
      await inTime(Promise.all(opened), 5_000, "a connection that listens").catch(() => {});
      await sql.end({ timeout: 1 });
    },
  };
}

function overPg(url: string, settings: Record<string, string>): TestClient {
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value.replaceAll(" ", "\\ ")}`).join(
    " ",
  );
  const config = { connectionString: url, options, max: 4, connectionTimeoutMillis: 5_000 };
  const pool = new pg.Pool(config);
  pool.on("error", () => {});
  let listening = 0;
  return {
    client: pool,
    listen: () => {
      const listener = new pg.Client(config);
      listening++;
      listener.once("end", () => listening--);
      return listener as PgClient;
    },
    listening: () => listening,
    [Symbol.asyncDispose]: () => pool.ending ? Promise.resolve() : pool.end(),
  };
}

/** Makes a PGlite, which keeps its data in memory. */
export function pglite(): TestClient {
  const database = new PGlite();
  return {
    client: database,
    listen: true,
    listening: () => 0,
    [Symbol.asyncDispose]: () => database.closed ? Promise.resolve() : database.close(),
  };
}

/** How many schemas there were: each test has one of its own. */
let schemas = 0;

/** Makes an empty schema. */
export async function newSchema(client: PostgresClient): Promise<string> {
  const schema = `s${++schemas}`;
  await runPostgres(client, `CREATE SCHEMA ${schema}`);
  return schema;
}
