import { StoreError } from "../../errors.ts";
import type { EvictOptions, QueryOptions, Snapshot, Store } from "../../store.ts";
import { type Backend, cas, type FoundDocument, type ListedDocuments, type WriteResult } from "../cas/mod.ts";
import { isMissing, isRefused, ZookeeperConnection } from "./client.ts";
import { nameOf, nodeOf, orderOf } from "./node_name.ts";
import {
  checkZookeeperOptions,
  type ZookeeperAcl,
  type ZookeeperClient,
  type ZookeeperOptions,
  type ZookeeperStat,
} from "./options.ts";
import { NodeWatches } from "./watch.ts";

/** A store in a ZooKeeper ensemble. */
export interface ZookeeperStore extends Store {
  /** Takes the lock from all its holders, or from those that are named. Resolves to how many lost it. */
  evict(name: string, options?: EvictOptions): Promise<number>;
  /** Lists the holders and the waiters of all locks below this path, in the order of the names. */
  query(options?: QueryOptions): Promise<Snapshot>;
}

/**
 * Returns a store in a ZooKeeper ensemble: each lock is the data of one persistent node.
 *
 * **No session ends a lock**, and the locks of Curator and of other recipes are not excluded. A waiter succeeds a dead
 * holder when it has itself seen for a whole lease that this did not renew; `tryAcquire`, which does not wait,
 * `maxClockSkew` after the lease has ended. If a clock is wrong by more than that, two callers may believe for a moment
 * that they hold the lock; the fence orders them.
 *
 * **The client** stays yours: connect it, and close it when the process ends. Calls and waiters then reject with a
 * `StoreError` that is `permanent`, and held locks end with their leases. A session that has expired is replaced. Make one
 * store for a client and path, and keep it: each store listens to the state of the client.
 *
 * @example
 * ```ts ignore
 * import { acquire } from "@holdfast/lock";
 * import { zookeeper } from "@holdfast/lock/zookeeper";
 * import { createClient } from "node-zookeeper-client";
 *
 * const client = createClient("zk1.example.com:2181,zk2.example.com:2181,zk3.example.com:2181");
 * client.connect();
 * const store = zookeeper(client, { path: "/app/locks" });
 * await using lock = await acquire(store, "nightly-report", { wait: 1_000 });
 * ```
 *
 * @param client a client of node-zookeeper-client
 * @param options the path of the nodes, an observer, and how far clocks may be apart
 * @throws {TypeError} when `client` is no such client, or an option is unknown or of the wrong kind
 * @throws {RangeError} when `path` cannot be that of a node, or `maxClockSkew` is negative
 */
export function zookeeper(client: ZookeeperClient, options: ZookeeperOptions = {}): ZookeeperStore {
  const { path, engine } = checkZookeeperOptions(client, options);
  // A backend that lists gives a store with both methods.
  return cas(new ZookeeperBackend(client, path), engine) as ZookeeperStore;
}

/** What ZooKeeper takes for any version. Versions have 32 bits, so that a node could reach it. */
const ANY_VERSION = -1;

/** Keeps documents as the data of nodes. The version of a node that is not there is `undefined`. */
export class ZookeeperBackend implements Backend<number | undefined> {
  readonly #connection: ZookeeperConnection;
  readonly #watches: NodeWatches;
  readonly #path: string;
  /** The access control list of the path, which each node is given. */
  #acl: ZookeeperAcl[] | undefined;

  constructor(client: ZookeeperClient, path: string) {
    this.#connection = new ZookeeperConnection(client);
    this.#watches = new NodeWatches(this.#connection);
    this.#path = path;
  }

  get closed(): boolean {
    return this.#connection.closed;
  }

  onClosed(run: () => void): () => void {
    return this.#connection.onClosed(run);
  }

  async read(name: string): Promise<FoundDocument<number | undefined>> {
    const path = await this.#pathOf(name);
    return await this.#synced(() => this.#readNode(path));
  }

  async write(name: string, text: string, version: number | undefined): Promise<WriteResult<number | undefined>> {
    const path = await this.#pathOf(name);
    const data = this.#connection.bufferOf(text);
    try {
      return { written: true, version: await this.#replace(path, data, version) };
    } catch (error) {
      if (!isRefused(error)) throw error;
      // A server answers the requests of a client in their order, so this is not older than the refusal.
      return { written: false, found: await this.#readNode(path) };
    }
  }

  async remove(name: string, version: number | undefined): Promise<boolean> {
    if (version === undefined || version === ANY_VERSION) return false;
    const path = await this.#pathOf(name);
    try {
      await this.#connection.call<[]>((client, done) => client.remove(path, version, done));
      return true;
    } catch (error) {
      if (!isRefused(error)) throw error;
      return false;
    }
  }

  async list(limit: number, cursor?: string): Promise<ListedDocuments<number | undefined>> {
    const nodes = await this.#synced(() => this.#nodes());
    const ordered = nodes.filter(({ order }) => cursor === undefined || order > cursor);
    const page = ordered.slice(0, limit);
    const found = await Promise.all(page.map(async ({ node }) => {
      const document = await this.#readNode(`${this.#path}/${node}`);
      const key = nameOf(node, document.value);
      return key === undefined || document.value === undefined ? [] : [{ key, ...document }];
    }));
    return { documents: found.flat(), cursor: page.length < ordered.length ? page.at(-1)!.order : undefined };
  }

  /** Sends a sync and a request at once, which are answered in that order. When one fails, the other is not left behind. */
  async #synced<T>(request: () => Promise<T>): Promise<T> {
    const [synced, answer] = await Promise.allSettled([this.#connection.sync(), request()]);
    if (synced.status === "rejected") throw synced.reason;
    if (answer.status === "rejected") throw answer.reason;
    return answer.value;
  }

  async watch(name: string, version: number | undefined, signal: AbortSignal): Promise<void> {
    await this.#watches.changed(await this.#pathOf(name), version, signal);
  }

  async #readNode(path: string): Promise<FoundDocument<number | undefined>> {
    try {
      const [data, { version }] = await this.#connection.call<[Uint8Array | undefined, ZookeeperStat]>(
        (client, done) => client.getData(path, done),
      );
      return { value: new TextDecoder().decode(data), version };
    } catch (error) {
      if (!isMissing(error)) throw error;
      return { value: undefined, version: undefined };
    }
  }

  /** Returns the names of the nodes that have locks, in the order of the names of these. */
  async #nodes(): Promise<{ readonly node: string; readonly order: string }[]> {
    try {
      const [nodes] = await this.#connection.call<[readonly string[]]>((client, done) => {
        client.getChildren(this.#path, done);
      });
      const found = nodes.flatMap((node) => {
        const order = orderOf(node);
        return order === undefined ? [] : [{ node, order }];
      });
      return found.sort((one, other) => one.order < other.order ? -1 : 1);
    } catch (error) {
      if (!isMissing(error)) throw error;
      return [];
    }
  }

  /** Replaces the data of a node if it has a version, or makes the node. Returns the version that it has then. */
  async #replace(path: string, data: Uint8Array, version: number | undefined): Promise<number> {
    if (version === undefined) return await this.#make(path, data);
    if (version === ANY_VERSION) throw anyVersionError(path);
    if (version + 1 === ANY_VERSION) return await this.#remake(path, data, version);
    const [stat] = await this.#connection.call<[ZookeeperStat]>((client, done) => {
      client.setData(path, data, version, done);
    });
    return stat.version;
  }

  /** Makes a node, and the path if that is missing. */
  async #make(path: string, data: Uint8Array): Promise<number> {
    const make = async () => {
      const acl = await this.#pathAcl();
      await this.#connection.call<[]>((client, done) => client.create(path, data, acl, done));
      return 0;
    };
    try {
      return await make();
    } catch (error) {
      if (!isMissing(error)) throw error;
      this.#acl = undefined;
      await this.#makePath();
      return await make();
    }
  }

  /** Removes a node if it has a version, and makes it anew: its versions begin with 0 again. */
  async #remake(path: string, data: Uint8Array, version: number): Promise<number> {
    const acl = await this.#pathAcl();
    await this.#connection.call<[]>((client, done) => {
      const transaction = client.transaction();
      transaction.remove(path, version);
      transaction.create(path, data, acl);
      transaction.commit(done);
    });
    return 0;
  }

  async #makePath(): Promise<void> {
    try {
      await this.#connection.call<[]>((client, done) => client.mkdirp(this.#path, done));
    } catch (cause) {
      if (!isMissing(cause)) throw cause;
      const advice = "make it, for example with: zkCli.sh -server HOST:PORT create CHROOT";
      throw new StoreError(`The chroot of the client does not exist: ${advice}`, { permanent: true, cause });
    }
  }

  /** Returns the access control list of the path, which nodes do not inherit by themselves. */
  async #pathAcl(): Promise<ZookeeperAcl[]> {
    if (this.#acl !== undefined) return this.#acl;
    const [acl] = await this.#connection.call<[ZookeeperAcl[]]>((client, done) => client.getACL(this.#path, done));
    if (acl.some(({ id: { scheme, id } }) => scheme === "digest" && id.endsWith(":x"))) {
      const needed = `the client needs ADMIN (a) on ${this.#path}`;
      const message = `ZooKeeper does not show the access control list that the nodes of locks are given: ${needed}`;
      throw new StoreError(message, { permanent: true });
    }
    return this.#acl = acl;
  }

  async #pathOf(name: string): Promise<string> {
    return `${this.#path}/${await nodeOf(name)}`;
  }
}

function anyVersionError(path: string): StoreError {
  const why = "another program has written it, and -1 means any version. Remove the node once nobody uses the lock";
  return new StoreError(`The version of the node ${path} is -1: ${why}`, { permanent: true });
}
