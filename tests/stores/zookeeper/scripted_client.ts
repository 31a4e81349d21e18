import type { ZookeeperClient, ZookeeperDone, ZookeeperStat } from "@holdfast/lock/zookeeper";

/** The states of a client. */
export const CONNECTED = 3;
export const DISCONNECTED = 0;
export const EXPIRED = -122;

/** The states of its connection manager. */
const OPEN = 1;
const CLOSED = -2;

/** A request that waits for its answer. */
interface Request {
  readonly what: "sync" | "getData" | "exists" | "getChildren";
  readonly answer: (error?: unknown) => void;
}

/**
 * What a store uses of node-zookeeper-client to look. Its server is behind the leader until it is asked to sync, and
 * answers the requests in their order, when a test says so.
 */
export class ScriptedClient {
  /** Its state. */
  code = CONNECTED;
  /** The version of the node by the leader, and by the server. */
  leader = 1;
  follower = 1;
  /** The watches that are set on the node. */
  readonly watchers: (() => void)[] = [];
  readonly connectionManager: {
    state: number;
    readonly sessionId: Uint8Array;
    readonly sessionPassword: Uint8Array;
    readonly on: () => void;
    readonly queue: (request: object, done: (error?: unknown) => void) => void;
    socket?: { destroy(): void };
  } = {
    state: OPEN,
    sessionId: new Uint8Array(8),
    sessionPassword: new Uint8Array(16),
    on: () => {},
    queue: (_, done) => this.#ask("sync", done),
  };
  readonly #requests: Request[] = [];
  readonly #listeners: ((state: { getCode(): number }) => void)[] = [];

  /** This one, as a store takes it. */
  get client(): ZookeeperClient {
    return this as unknown as ZookeeperClient;
  }

  /** The requests that wait for an answer. */
  get requested(): string[] {
    return this.#requests.map(({ what }) => what);
  }

  /** Answers all requests, with an error if one is given. */
  answer(error?: unknown): void {
    for (const request of this.#requests.splice(0)) {
      if (request.what === "sync") this.follower = this.leader;
      request.answer(error);
    }
  }

  /** Connects, of which the store is told. */
  connect(): void {
    this.#become(CONNECTED, OPEN);
  }

  /** Its session expires, of which the store is told. */
  expire(): void {
    this.#become(EXPIRED, CLOSED);
  }

  /** Its user closes it. */
  close(): void {
    this.#become(DISCONNECTED, CLOSED);
  }

  #become(code: number, state: number): void {
    this.code = code;
    this.connectionManager.state = state;
    for (const listener of this.#listeners) listener(this.getState());
  }

  /** Changes the node, of which the watches are told. */
  change(): void {
    this.leader++;
    this.follower = this.leader;
    for (const watcher of this.watchers.splice(0)) watcher();
  }

  on(_event: "state", listener: (state: { getCode(): number }) => void): void {
    this.#listeners.push(listener);
  }

  getState(): { getCode(): number } {
    return { getCode: () => this.code };
  }

  getData(_path: string, done: ZookeeperDone<[data: Uint8Array, stat: ZookeeperStat]>): void {
    this.#ask("getData", (error) => {
      done(error, new TextEncoder().encode(`version ${this.follower}`), { version: this.follower });
    });
  }

  getChildren(path: string, done: ZookeeperDone<[names: readonly string[]]>): void {
    // One node for each version, in one directory.
    const names = path === "/locks/-" ? ["-"] : path === "/locks/-/-" ? Array(this.follower).fill("YQ") : [];
    this.#ask("getChildren", (error) => done(error, names));
  }

  exists(_path: string, watcher: () => void, done: ZookeeperDone<[stat: ZookeeperStat | null]>): void {
    this.#ask("exists", (error) => {
      if (error === undefined) this.watchers.push(watcher);
      done(error, { version: this.follower });
    });
  }

  #ask(what: Request["what"], answer: Request["answer"]): void {
    this.#requests.push({ what, answer });
  }
}
