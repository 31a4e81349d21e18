import { checkKeys, show } from "../../internal/validation.ts";
import { type CasOptions, refuseClockSkew } from "../../engine/options.ts";

/** The `Stat` of a node. */
export interface ZookeeperStat {
  /** How often the data was replaced since the node was made; 32 bits. */
  readonly version: number;
  /** The number of the transaction that made the node, 64 bits. */
  readonly czxid?: Uint8Array;
  /** The number of the transaction that last replaced its data. */
  readonly mzxid?: Uint8Array;
  /** When the node was made, by the leader's clock, in milliseconds since the Unix epoch, 64 bits. */
  readonly ctime?: Uint8Array;
  /** When its data was last replaced. */
  readonly mtime?: Uint8Array;
}

/** An entry of the access control list of a node. */
export interface ZookeeperAcl {
  /** The permissions, as bits. */
  readonly permission?: number;
  /** The user with the permissions. */
  readonly id: { readonly scheme: string; readonly id: string };
}

/** The callback of a request, for the answer of the server. */
export type ZookeeperDone<Results extends readonly unknown[] = []> = (error: unknown, ...results: Results) => void;

/** Several changes that are executed together, or not at all. */
export interface ZookeeperTransaction {
  /** Removes a node. */
  remove(path: string, version: number): unknown;
  /** Makes a node. */
  create(path: string, data: Uint8Array, acl: ZookeeperAcl[]): unknown;
  /** Sends the changes. */
  commit(done: ZookeeperDone): unknown;
}

/** The part of a client of node-zookeeper-client that the store uses. */
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
  /** Checks whether there is a node, and watches it until it changes. */
  exists(path: string, watcher: () => void, done: ZookeeperDone<[stat: ZookeeperStat | null]>): void;
  /** Lists the names of the nodes below a node. */
  getChildren(path: string, done: ZookeeperDone<[names: readonly string[]]>): void;
  /** Reads the access control list of a node. */
  getACL(path: string, done: ZookeeperDone<[acl: ZookeeperAcl[]]>): void;
  /** Makes a node. */
  create(path: string, data: Uint8Array, acl: ZookeeperAcl[], done: ZookeeperDone): void;
  /** Makes a node, and missing nodes above it. */
  mkdirp(path: string, done: ZookeeperDone): void;
  /** Replaces the data of a node that has a version. */
  setData(path: string, data: Uint8Array, version: number, done: ZookeeperDone<[stat: ZookeeperStat]>): void;
  /** Removes a node that has a version. */
  remove(path: string, version: number, done: ZookeeperDone): void;
  /** Begins a transaction. */
  transaction(): ZookeeperTransaction;
}

/** The requests of a client. */
export type ZookeeperRequests = Pick<
  ZookeeperClient,
  "getData" | "exists" | "getChildren" | "getACL" | "create" | "mkdirp" | "setData" | "remove" | "transaction"
>;

/** The options of `zookeeper()`. */
export interface ZookeeperOptions extends Pick<CasOptions, "observer"> {
  /** The node above the nodes of the locks; `"/holdfast"` when left out. It is made if it is missing. */
  readonly path?: string | undefined;
  /**
   * The user and the password, as in `"user:password"`, for the scheme `digest`. Only with servers in place of a
   * client.
   */
  readonly auth?: string | undefined;
}

/** The options, checked and with their defaults. */
export interface ZookeeperSettings {
  readonly path: string;
  readonly auth: string | undefined;
  readonly engine: CasOptions;
}

const METHODS = [
  ...["connect", "on", "getState", "getSessionId", "getData", "exists", "getChildren", "getACL", "create", "mkdirp"],
  ...["setData", "remove", "transaction"],
];

/** A valid path, without empty names and without `.` and `..`. */
const PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[^/\p{Cc}\ud800-\uf8ff\ufff0-\u{10ffff}]+)+$/u;

/** Checks the client and the options, and separates the engine's options. */
export function checkZookeeperOptions(
  client: ZookeeperClient | string,
  options: ZookeeperOptions,
): ZookeeperSettings {
  const missing = typeof client === "string"
    ? undefined
    : METHODS.find((method) => typeof Reflect.get(Object(client), method) !== "function");
  if (missing !== undefined) {
    const wanted = 'client must be one of node-zookeeper-client, or the servers, as in "zk1:2181,zk2:2181"';
    throw new TypeError(`${wanted}: got ${show(client)}, ${missing}() is missing`);
  }
  refuseClockSkew(options);
  const { path = "/holdfast", auth, ...engine } = checkKeys(options, ["path", "auth", "observer"]);
  if (auth !== undefined && (typeof auth !== "string" || !auth.includes(":") || typeof client !== "string")) {
    const why = typeof client === "string" ? `"user:password"` : "given to the client, with addAuthInfo()";
    throw new TypeError(`auth must be ${why}`);
  }
  if (typeof path !== "string") throw new TypeError(`path must be a string: got ${show(path)}`);
  if (!PATH.test(path) || path === "/zookeeper" || path.startsWith("/zookeeper/")) {
    throw new RangeError(`path must be that of a node, such as "/holdfast" or "/app/locks": got ${show(path)}`);
  }
  return { path, auth, engine };
}
