import type { Observer } from "@holdfast/lock";
import { mysql, type MysqlPool, type MysqlStore } from "@holdfast/lock/mysql";
import { type PgClient, postgres, type PostgresClient, type PostgresJsClient } from "@holdfast/lock/postgres";
import type { PostgresOptions, PostgresStore } from "@holdfast/lock/postgres";
import { type ClientName, CLIENTS, OPEN } from "../guard/databases.ts";

/** How a store in a database is opened. */
export interface DatabaseStoreOptions {
  readonly table?: string;
  readonly observer?: Observer;
  /** Where waiters are notified, on PostgreSQL; they poll when left out. */
  readonly listenAt?: string;
}

/** A store in a database, with a pool of its own, as another process has one. */
export interface DatabaseStore extends AsyncDisposable {
  readonly store: MysqlStore | PostgresStore;
}

/** Opens a store in a database. */
export async function openStoreIn(
  client: ClientName,
  url: string,
  { listenAt, ...options }: DatabaseStoreOptions = {},
): Promise<DatabaseStore> {
  await using stack = new AsyncDisposableStack();
  const poolAt = async (url: string) => (await stack.use(await OPEN[client](url)).outside())[0];
  const pool = await poolAt(url);
  const listen = listenAt === undefined ? undefined : await listener(client, listenAt, await poolAt(listenAt));
  const store = CLIENTS[client] === "mysql"
    ? mysql(pool as MysqlPool, options)
    : postgres(pool as PostgresClient, { ...options, listen });
  const opened = stack.move();
  return { store, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Returns the option `listen` for a client of PostgreSQL; `sql` is that of postgres.js. */
export async function listener(
  client: ClientName,
  url: string,
  sql: unknown,
): Promise<NonNullable<PostgresOptions["listen"]>> {
  if (client !== "pg") return sql as PostgresJsClient;
  const { default: pg } = await import("pg");
  return () => new pg.Client(url) as PgClient;
}
