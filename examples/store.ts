/**
 * The store that the first argument of an example names: an SQLite file (the default), a Redis or Valkey server, or the
 * servers of Redlock.
 *
 * ```text
 * locks.db  or  sqlite:locks.db
 * redis://127.0.0.1:6379
 * redis://127.0.0.1:6379,redis://127.0.0.1:6380,redis://127.0.0.1:6381
 * ```
 *
 * SQLite needs `--allow-read=.` and `--allow-write=.`, a server `--allow-net=HOST:PORT` and `--allow-env`.
 *
 * @module
 */
import type { Observer, Store } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { redlock } from "@holdfast/lock/redlock";
import { sqlite } from "@holdfast/lock/sqlite";

/** An open store. Leaving its scope closes the file or the connections. */
export interface OpenStore extends Disposable {
  readonly store: Store;
}

/** Opens the store at a path or URL, or Redlock at several URLs with commas between them. */
export async function openStore(where = "locks.db", observer: Observer = () => {}): Promise<OpenStore> {
  if (!/^rediss?:/.test(where)) {
    const store = sqlite(where.replace(/^sqlite:/, ""), { observer });
    return { store, [Symbol.dispose]: () => store.close() };
  }
  const { Redis } = await import("ioredis"); // here, because the examples on SQLite need no client
  const clients = where.split(",").map((url) => new Redis(url));
  const [client] = clients;
  const store = clients.length === 1 ? redis(client!, { observer }) : redlock(clients, { observer });
  return { store, [Symbol.dispose]: () => clients.forEach((client) => client.disconnect()) };
}
