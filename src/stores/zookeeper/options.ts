import { checkKeys, show } from "../../internal/validation.ts";
import type { CasOptions } from "../cas/options.ts";

/** What ZooKeeper tells of a node. */
export interface ZookeeperStat {
  /** How often the data was replaced since the node was made; 32 bits. */
  readonly version: number;
}

/** An entry of the access control list of a node. */
export interface ZookeeperAcl {
  /** Who has the permissions. */
  readonly id: { readonly scheme: string; readonly id: string };
}

/** What a client calls with the answer of the server. */
export type ZookeeperDone<Results extends readonly unknown[] = []> = (error: unknown, ...results: Results) => void;

/** Several changes that are made together, or not at all. */
export interface ZookeeperTransaction {
  /** Removes a node. */
  remove(path: string, version: number): unknown;
  /** Makes a node. */
  create(path: string, data: Uint8Array, acl: ZookeeperAcl[]): unknown;
  /** Sends them. */
  commit(done: ZookeeperDone): unknown;
}

/** What the store uses of a client of node-zookeeper-client. */
export interface ZookeeperClient {
  /** Connects, and keeps the client connected. */
  connect(): void;
  /** Calls a function when the client was connected or disconnected, and when its session has expired. */
  on(event: "state", listener: (state: { getCode(): number }) => void): unknown;
  /** Returns whether it is connected. */
  getState(): { getCode(): number };
  /** Returns the id of the session, in a `Buffer`. */
  getSessionId(): Uint8Array;
  /** Reads a node. */
  getData(path: string, done: ZookeeperDone<[data: Uint8Array | undefined, stat: ZookeeperStat]>): void;
  /** Looks whether there is a node, and watches it until it changes. */
  exists(path: string, watcher: () => void, done: ZookeeperDone<[stat: ZookeeperStat | null]>): void;
  /** Lists the names of the nodes below a node. */
  getChildren(path: string, done: ZookeeperDone<[names: readonly string[]]>): void;
  /** Reads the access control list of a node. */
  getACL(path: string, done: ZookeeperDone<[acl: ZookeeperAcl[]]>): void;
  /** Makes a node. */
  create(path: string, data: Uint8Array, acl: ZookeeperAcl[], done: ZookeeperDone): void;
  /** Makes a node, and those above it. */
  mkdirp(path: string, done: ZookeeperDone): void;
  /** Replaces the data of a node that has a version. */
  setData(path: string, data: Uint8Array, version: number, done: ZookeeperDone<[stat: ZookeeperStat]>): void;
  /** Removes a node that has a version. */
  remove(path: string, version: number, done: ZookeeperDone): void;
  /** Begins a transaction. */
  transaction(): ZookeeperTransaction;
}

/** The options of `zookeeper()`. */
export interface ZookeeperOptions extends CasOptions {
  /** The node that has those of the locks below it; `"/holdfast"` when left out. It is made if it is missing. */
  readonly path?: string | undefined;
}

/** The options, checked and with their defaults. */
export interface ZookeeperSettings {
  readonly path: string;
  readonly engine: CasOptions;
}

const METHODS = [
  ...["connect", "on", "getState", "getSessionId", "getData", "exists", "getChildren", "getACL", "create", "mkdirp"],
  ...["setData", "remove", "transaction"],
];

/** A path without empty names and without `.` and `..`, and of characters that ZooKeeper takes. */
const PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[^/\p{Cc}\ud800-\uf8ff\ufff0-\u{10ffff}]+)+$/u;

/** Checks the client and the options, and separates those of the engine. */
export function checkZookeeperOptions(client: ZookeeperClient, options: ZookeeperOptions): ZookeeperSettings {
  const missing = METHODS.find((method) => typeof Reflect.get(Object(client), method) !== "function");
  if (missing !== undefined) {
    const wanted = 'client must be one of node-zookeeper-client, as createClient("host:2181") makes it';
    throw new TypeError(`${wanted}: got ${show(client)}, ${missing}() is missing`);
  }
  const { path = "/holdfast", ...engine } = checkKeys(options, ["path", "maxClockSkew", "observer"]);
  if (typeof path !== "string") throw new TypeError(`path must be a string: got ${show(path)}`);
  if (!PATH.test(path) || path === "/zookeeper" || path.startsWith("/zookeeper/")) {
    throw new RangeError(`path must be that of a node, such as "/holdfast" or "/app/locks": got ${show(path)}`);
  }
  return { path, engine };
}
