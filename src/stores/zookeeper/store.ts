import type { ListingStore } from "../../contract/store.ts";
import type {
  Backend,
  FoundDocument,
  KeyVersion,
  ListedDocuments,
  WatchOptions,
  WriteResult,
} from "../../engine/mod.ts";
import { casOf } from "../../engine/store.ts";
import { connectionOf, type NodeConnection } from "./client.ts";
import { isMissing, isRefused } from "./failures.ts";
import { checkCursor, DIRECTORIES, isLock, nameOf, nodeOf } from "./node_name.ts";
import { DIRECTORY, LockNodes } from "./nodes.ts";
import { checkZookeeperOptions, type ZookeeperClient, type ZookeeperOptions } from "./options.ts";
import { parseServers } from "./servers.ts";
import { ZookeeperSession } from "./session.ts";
import { ZookeeperTimers } from "./timers.ts";
import { NodeWatches } from "./watch.ts";

/**
 * A store in a ZooKeeper ensemble. `query()` lists all locks below the path: the entries of each name together, in no
 * order of names.
 */
export type ZookeeperStore = ListingStore;

/**
 * Returns a store in a ZooKeeper ensemble: each lock is the data of one persistent node.
 *
 * **No session ends a lock**, and the locks of Curator and of other recipes are not excluded. A caller succeeds a dead
 * holder after it has itself seen no renewal for a whole lease, or when a timer is over that was started for the last
 * renewal or by another caller: a moment of the leader's clock, and a length. No clock of a process is compared with
 * another clock.
 *
 * **Servers** given as a text are connected to when a call needs them; there is nothing to close.
 *
 * **A client** stays yours: connect it, and close it when the process ends. Calls and waiters then reject with a
 * `StoreError` that is `permanent`, and held locks end with their leases. A session that has expired is replaced. Make
 * one store for a client and path, and keep it: each store listens to the state of the client.
 *
 * @example
 * ```ts ignore
 * import { acquire } from "@holdfast/lock";
 * import { zookeeper } from "@holdfast/lock/zookeeper";
 *
 * const servers = "zk1.example.com:2181,zk2.example.com:2181,zk3.example.com:2181";
 * const store = zookeeper(servers, { path: "/app/locks" });
 * await using lock = await acquire(store, "nightly-report", { wait: 1_000 });
 * ```
 *
 * @param client the servers, such as `"zk1:2181,zk2:2181/app"`, or a client of node-zookeeper-client
 * @param options the path of the nodes, a user, and an observer
 * @throws {TypeError} when `client` is neither, or an option is unknown or of the wrong kind
 * @throws {RangeError} when `path` cannot be the path of a node
 */
export function zookeeper(client: ZookeeperClient | string, options: ZookeeperOptions = {}): ZookeeperStore {
  const { path, engine, auth } = checkZookeeperOptions(client, options);
  const own = typeof client === "string" ? new ZookeeperSession(parseServers(client, auth)) : client;
  return casOf(new ZookeeperBackend(own, path), engine, own, JSON.stringify([path]));
}

/** How many directories are listed at the same time at most. */
const MOST_LISTED = 64;

/** Keeps documents as the data of nodes. The version of a missing node is `undefined`. */
export class ZookeeperBackend implements Backend<number | undefined> {
  readonly timers: ZookeeperTimers;
  readonly #connection: NodeConnection;
  readonly #watches: NodeWatches;
  readonly #nodes: LockNodes;
  readonly #path: string;

  constructor(client: ZookeeperClient | ZookeeperSession, path: string) {
    this.#connection = client instanceof ZookeeperSession ? client : connectionOf(client);
    this.#watches = new NodeWatches(this.#connection);
    this.#path = path;
    this.#nodes = new LockNodes(this.#connection, path);
    this.timers = new ZookeeperTimers(this.#connection, path, this.#nodes);
  }

  get closed(): boolean {
    return this.#connection.closed;
  }

  onClosed(run: () => void): () => void {
    return this.#connection.onClosed?.(run) ?? (() => {});
  }

  async read(name: string): Promise<FoundDocument<number | undefined>> {
    const path = await this.#pathOf(name);
    return await this.#synced(() => this.#nodes.read(path));
  }

  async write(name: string, text: string, version: number | undefined): Promise<WriteResult<number | undefined>> {
    const path = await this.#pathOf(name);
    const data = this.#connection.bufferOf(text);
    try {
      return { written: true, version: await this.#nodes.replace(path, data, version) };
    } catch (error) {
      if (!isRefused(error)) throw error;
      // A server answers the requests of a client in their order, so this is not older than the refusal.
      return { written: false, found: await this.#nodes.read(path) };
    }
  }

  async remove(documents: readonly KeyVersion<number | undefined>[]): Promise<number> {
    // Not in one transaction: one node that was written meanwhile would keep all others.
    const removed = await Promise.allSettled(
      documents.map(async ({ key, version }) => this.#nodes.remove(await this.#pathOf(key), version)),
    );
    return removed.filter((result) => {
      if (result.status === "rejected") throw result.reason;
      return result.value;
    }).length;
  }

  async list(limit: number, cursor = ""): Promise<ListedDocuments<number | undefined>> {
    const nodes: string[] = [];
    for await (const more of this.#nodesAfter(checkCursor(cursor))) {
      nodes.push(...more);
      if (nodes.length >= limit) break;
    }
    const page = nodes.slice(0, limit);
    const found = await Promise.all(page.map(async (node) => {
      const document = await this.#nodes.read(`${this.#path}/${node}`);
      const key = nameOf(node.slice(DIRECTORY.length), document.value);
      return key === undefined || document.value === undefined ? [] : [{ key, ...document }];
    }));
    return { documents: found.flat(), cursor: page.length < limit ? undefined : page.at(-1) };
  }

  /**
   * Sends a sync and a request at once, which are answered in that order. When one fails, waits for the other as well.
   */
  async #synced<T>(request: () => Promise<T>): Promise<T> {
    const [synced, answer] = await Promise.allSettled([this.#connection.sync(), request()]);
    if (synced.status === "rejected") throw synced.reason;
    if (answer.status === "rejected") throw answer.reason;
    return answer.value;
  }

  async watch(
    name: string,
    version: number | undefined,
    signal: AbortSignal,
    { isWaited }: WatchOptions,
  ): Promise<void> {
    const end = isWaited ? this.#connection.use?.() : undefined;
    try {
      await this.#watches.changed(await this.#pathOf(name), version, signal);
    } finally {
      end?.();
    }
  }

  /** Yields the nodes of locks after a place, in the order of their paths below the store's path, some at a time. */
  async *#nodesAfter(place: string): AsyncGenerator<string[]> {
    const isAhead = (directory: string) => directory >= place.slice(0, directory.length);
    const pace = { size: 1 };
    for (const outer of slices(DIRECTORIES.filter(isAhead))) {
      const inner = await this.#synced(() => this.#childrenOf(outer));
      const directories = inner.filter((directory) => directory.length === DIRECTORY.length - 1);
      for (const some of slices(directories.filter(isAhead), pace)) {
        const nodes = await this.#childrenOf(some);
        yield nodes.filter((node) => isLock(node.slice(DIRECTORY.length)) && node > place);
      }
    }
  }

  /** Returns the paths of the nodes below others, in order. A missing node has none. */
  async #childrenOf(parents: readonly string[]): Promise<string[]> {
    const found = await Promise.all(parents.map(async (parent) => {
      try {
        const [nodes] = await this.#connection.call<[readonly string[]]>((client, done) => {
          client.getChildren(`${this.#path}/${parent}`, done);
        });
        return nodes.map((node) => `${parent}/${node}`).sort();
      } catch (error) {
        if (!isMissing(error)) throw error;
        return [];
      }
    }));
    return found.flat();
  }

  async #pathOf(name: string): Promise<string> {
    return `${this.#path}/${await nodeOf(name)}`;
  }
}

/** Divides a list into slices of growing size (one, two, four, …), so that a listing can stop when it has enough. */
function* slices<T>(all: readonly T[], pace = { size: 1 }): Generator<T[]> {
  for (let from = 0; from < all.length;) {
    const to = from + pace.size;
    yield all.slice(from, to);
    from = to;
    pace.size = Math.min(2 * pace.size, MOST_LISTED);
  }
}
