import { zookeeper, type ZookeeperOptions, type ZookeeperStore } from "@holdfast/lock/zookeeper";
import { type Clock, SystemClock } from "../../../src/time/clock.ts";
import { type LockDocument, parseDocument } from "../../../src/engine/document.ts";
import { CasStore } from "../../../src/engine/store.ts";
import { nodeOf } from "../../../src/stores/zookeeper/node_name.ts";
import { ZookeeperBackend } from "../../../src/stores/zookeeper/store.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { findZookeeper } from "../../support/zookeeper.ts";
import {
  type ClientOptions,
  closeClient,
  connected,
  isConnected,
  type TestClient,
  ZookeeperEnsemble,
  ZookeeperServer,
} from "../../support/zookeeper_server.ts";

const found = findZookeeper();
if ("missing" in found) console.log(`the tests on ZooKeeper are skipped: ${found.missing}`);

/** Whether there is no server. */
export const ignore = "missing" in found;

/** The servers of the test file. */
const servers: { one?: ZookeeperServer; three?: ZookeeperEnsemble } = {};

/** Starts one server and three servers before the tests of the file that calls it, and stops them after them. */
export function serve(): void {
  if (ignore) return;
  Deno.test.beforeAll(async () => {
    [servers.one, servers.three] = await Promise.all([ZookeeperServer.start(), ZookeeperEnsemble.start(3)]);
  });
  Deno.test.afterAll(async () => {
    await servers.one?.[Symbol.asyncDispose]();
    await servers.three?.[Symbol.asyncDispose]();
  });
}

/** Returns the server that is alone. */
export function oneServer(): ZookeeperServer {
  if (servers.one === undefined) throw new Error("the file does not call serve()");
  return servers.one;
}

/** Returns the three servers that agree. */
export function threeServers(): ZookeeperEnsemble {
  if (servers.three === undefined) throw new Error("the file does not call serve()");
  return servers.three;
}

/** A path of its own for each test. */
export class Place implements AsyncDisposable {
  static #places = 0;
  readonly path: string;
  readonly address: string;
  readonly #clients: TestClient[] = [];
  #reader: ZookeeperBackend | undefined;

  private constructor(address: string) {
    this.path = `/holdfast${++Place.#places}`;
    this.address = address;
  }

  /** Makes one, by default on the server that is alone. */
  static open(address: string = oneServer().address): Place {
    return new Place(address);
  }

  /** Returns a client that is closed with the place. */
  client(address: string = this.address, options: ClientOptions = {}): TestClient {
    const client = connected(address, options);
    this.#clients.push(client);
    return client;
  }

  /** Returns the backend of a client, by default of a new one: its calls wait until that is connected. */
  backend(client?: TestClient): ZookeeperBackend {
    if (client !== undefined) return new ZookeeperBackend(client, this.path);
    const made = this.client();
    const backend = new ZookeeperBackend(made, this.path);
    waitFor(made, backend, ["read", "write", "remove", "list"]);
    waitFor(made, backend.timers, ["start", "areOver"]);
    return backend;
  }

  /** Returns a store that does not hand on, for tests that call it themselves. It is connected. */
  async engine(clock: Clock = new SystemClock(), client: TestClient = this.client()): Promise<CasStore> {
    const backend = this.backend(client);
    // The session is being made, which takes longer than leases of the suite allow.
    await answers(() => backend.read("a"));
    return new CasStore(backend, { maxClockSkew: 10_000, observer: undefined }, clock);
  }

  /** Returns a store of a new client, which is connected. */
  async store(options: ZookeeperOptions = {}): Promise<ZookeeperStore> {
    const store = zookeeper(this.client(), { path: this.path, ...options });
    await answers(() => store.query());
    return store;
  }

  /** Returns a store of a new client, which lists once it is connected. */
  connecting(): ZookeeperStore {
    const store = zookeeper(this.client(), { path: this.path });
    const query = store.query.bind(store);
    store.query = (options) => answers(() => query(options));
    return store;
  }

  /** Returns the path of the node of a lock. */
  async nodeOf(name: string): Promise<string> {
    return `${this.path}/${await nodeOf(name)}`;
  }

  /** Reads the document of a lock. */
  async documentOf(name: string): Promise<LockDocument> {
    const reader = this.#reader ??= this.backend();
    return parseDocument(name, (await answers(() => reader.read(name))).value);
  }

  /** Returns the names of the locks that are held or waited for. */
  async used(): Promise<string[]> {
    const reader = this.#reader ??= this.backend();
    const { documents } = await answers(() => reader.list(100_000));
    return documents.filter(({ key, value }) => !parseDocument(key, value).unused).map(({ key }) => key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map(closeClient));
  }
}

/** Lets calls wait until a client is connected: by themselves they give up after 1.5 s. */
function waitFor<Target extends object>(
  client: TestClient,
  target: Target,
  methods: readonly (keyof Target & string)[],
): void {
  for (const method of methods) {
    const call = target[method] as unknown as (...args: unknown[]) => Promise<unknown>;
    const patient = async (...args: unknown[]) => {
      await until(() => isConnected(client), "the client is connected", HANG_MS);
      return await call.apply(target, args);
    };
    Object.assign(target, { [method]: patient });
  }
}

/**
 * Resolves to what a call resolves to, once it does. Three servers have left a client without an answer to its first
 * request, which the store notices after 5 s.
 */
export async function answers<T>(call: () => Promise<T>): Promise<T> {
  const found: T[] = [];
  const isAnswered = () => call().then((answer) => found.push(answer) > 0, () => false);
  await until(isAnswered, "ZooKeeper answers", HANG_MS);
  return found[0]!;
}

/** Defines a test with a path of its own. */
export function test(name: string, run: (place: Place) => Promise<void>): void {
  const fn = async () => {
    await using place = Place.open();
    await run(place);
  };
  Deno.test({ name, fn, ignore });
}

/** Sends a request over a client of a test, and resolves to the answer. */
export function answered<Results extends unknown[] = []>(
  send: (done: (error: unknown, ...results: Results) => void) => void,
): Promise<Results> {
  return new Promise((resolve, reject) => {
    send((error, ...results) => error ? reject(error) : resolve(results));
  });
}
