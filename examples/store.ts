/**
 * The store that the first argument of an example names by its URL: an SQLite file, a Redis or Valkey server, the
 * servers of Redlock with commas between them, a database of PostgreSQL, MySQL or MariaDB, or members of etcd or
 * of ZooKeeper.
 *
 * ```text
 * sqlite:locks.db
 * redis://127.0.0.1:6379
 * redis://127.0.0.1:6379,redis://127.0.0.1:6380,redis://127.0.0.1:6381
 * postgres://app:secret@127.0.0.1/shop
 * mysql://app:secret@127.0.0.1/shop
 * etcd://127.0.0.1:2379,127.0.0.1:2381
 * zookeeper://127.0.0.1:2181,127.0.0.1:2182/chroot
 * ```
 *
 * SQLite, the default, needs `--allow-read=.` and `--allow-write=.`, a server `--allow-net=HOST:PORT` and
 * `--allow-env`.
 *
 * @module
 */
import type { Observer, Store } from "@holdfast/lock";
import { etcd } from "@holdfast/lock/etcd";
import { mysql } from "@holdfast/lock/mysql";
import { postgres } from "@holdfast/lock/postgres";
import { redis } from "@holdfast/lock/redis";
import { redlock } from "@holdfast/lock/redlock";
import { sqlite } from "@holdfast/lock/sqlite";
import { zookeeper } from "@holdfast/lock/zookeeper";
import type { Redis } from "ioredis";
import { DEFAULT_PORTS, pathOf, type Protocol, protocolOf, urlsOf } from "./store_url.ts";

/** An open store. Leaving its scope closes the file or the connections. */
export interface OpenStore extends AsyncDisposable {
  readonly store: Store;
}

/** How the store of each protocol is opened. */
const OPEN: Readonly<Record<Protocol, (where: string, observer: Observer) => Promise<OpenStore>>> = {
  "sqlite:": openSqlite,
  "redis:": openRedis,
  "rediss:": openRedis,
  "postgres:": openPostgres,
  "mysql:": openMysql,
  "etcd:": openEtcd,
  "zookeeper:": openZookeeper,
};

/** Opens the store of a URL, or Redlock of several URLs with commas between them. Rejects if no server answers. */
export async function openStore(where = "sqlite:locks.db", observer: Observer = () => {}): Promise<OpenStore> {
  return await OPEN[protocolOf(where)](where, observer);
}

function openSqlite(where: string, observer: Observer): Promise<OpenStore> {
  const store = sqlite(pathOf(where), { observer });
  return Promise.resolve({ store, [Symbol.asyncDispose]: () => Promise.resolve(store.close()) });
}

/** Opens a cluster, once it has answered. There is nothing to close. */
async function openEtcd(where: string, observer: Observer): Promise<OpenStore> {
  const endpoints = urlsOf(where).map((url) => `http://${url.hostname}:${url.port || DEFAULT_PORTS["etcd:"]}`);
  const store = etcd({ endpoints, observer });
  await store.query({ limit: 1 });
  return { store, [Symbol.asyncDispose]: () => Promise.resolve() };
}

/** Opens an ensemble, once it has answered. */
async function openZookeeper(where: string, observer: Observer): Promise<OpenStore> {
  const { createClient } = await import("node-zookeeper-client");
  const client = createClient(where.replace("zookeeper://", ""));
  client.connect();
  const store = zookeeper(client, { observer });
  await store.query({ limit: 1 });
  return { store, [Symbol.asyncDispose]: () => Promise.resolve(client.close()) };
}

async function openRedis(where: string, observer: Observer): Promise<OpenStore> {
  const { Redis } = await import("ioredis"); // here, because the examples on SQLite need no client
  const clients = where.split(",").map((url) => new Redis(url, { lazyConnect: true }));
  const close = () => Promise.resolve(clients.forEach((client) => client.disconnect()));
  await Promise.any(clients.map(connect)).catch(async ({ errors }: AggregateError) => {
    await close();
    throw errors[0];
  });
  const [client] = clients;
  const store = clients.length === 1 ? redis(client!, { observer }) : redlock(clients, { observer });
  return { store, [Symbol.asyncDispose]: close };
}

async function openPostgres(where: string, observer: Observer): Promise<OpenStore> {
  const { default: connect } = await import("postgres");
  const sql = connect(where, { fetch_types: false, onnotice: () => {} });
  const close = () => sql.end({ timeout: 1 });
  await closedOnFailure(sql`SELECT 1`, close);
  return { store: postgres(sql, { listen: true, observer }), [Symbol.asyncDispose]: close };
}

async function openMysql(where: string, observer: Observer): Promise<OpenStore> {
  const { createPool } = await import("mysql2/promise");
  const pool = createPool(where);
  await closedOnFailure(pool.query("SELECT 1"), () => pool.end());
  return { store: mysql(pool, { observer }), [Symbol.asyncDispose]: () => pool.end() };
}

/** Resolves with the first answer of a server; closes the client if there is none. */
async function closedOnFailure(answer: PromiseLike<unknown>, close: () => Promise<void>): Promise<void> {
  try {
    await answer;
  } catch (error) {
    await close();
    throw error;
  }
}

/** Resolves when the server answers; rejects at the first failure, after which the client goes on trying. */
async function connect(client: Redis): Promise<void> {
  const failure = new Promise<never>((_, reject) => client.once("error", reject));
  await Promise.race([client.connect(), failure]);
}
