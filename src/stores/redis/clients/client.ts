/**
 * A client of one of the known libraries. The types are structural, so that no client library is a dependency, and
 * clients of any copy of one work.
 */
export type RedisClient = IoredisClient | NodeRedisClient | BunRedisClient | UpstashClient | ValkeyGlideClient;

/** The part of a client of ioredis 5 or 6 (one server, Sentinel, Cluster) or of iovalkey that the Redis store uses. */
export interface IoredisClient {
  /** Runs a script by its SHA-1. */
  evalsha(sha: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Runs a script by its text. */
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Makes a second client with the same options, for the wake-ups. */
  duplicate(...overrides: never[]): RedisSubscriber;
  /** Sends several commands together over one connection. Needed only for the option `replicas`. */
  pipeline?(): RedisPipeline;
  /** Subscribes to the state of the connection. */
  on(event: "ready" | "close" | "end", listener: () => void): unknown;
  /** Subscribes to the errors of the connection, of single Sentinels and of single Cluster nodes. */
  on(event: "error" | "sentinelError" | "node error", listener: (error: Error, address?: string) => void): unknown;
  /** Subscribes to the databases that the client is told to use. */
  on(event: "select", listener: (database: number) => void): unknown;
  /** Subscribes to the nodes that a Cluster client discovers. */
  on(event: "+node", listener: (node: RedisNode) => void): unknown;
  /** Changes the database. Needed only for a database other than 0. */
  select?(database: number): Promise<unknown>;
  /** Returns how many listeners an event has. */
  listenerCount?(event: "error"): number;
  /** The state of the connection: `"ready"` while commands are sent, `"end"` when it was closed for good. */
  readonly status?: string;
  /** The socket, once there is one; a Cluster client has none. */
  readonly stream?: { cork?(): void; uncork?(): void } | undefined;
  /** Whether this is a Cluster client. */
  readonly isCluster?: boolean;
  /** Returns the nodes that a Cluster client knows. */
  nodes?(role?: "master"): readonly RedisNode[];
  /** Iterates over the keys of a server. Needed only for `query()`. */
  scan?: RedisNode["scan"];
  /** The options that it was made with. */
  readonly options?: {
    readonly keyPrefix?: string | Uint8Array | undefined;
    readonly host?: string | undefined;
    readonly port?: number | undefined;
    readonly username?: string | undefined;
    readonly db?: number | undefined;
    readonly autoResendUnfulfilledCommands?: unknown;
    // Those that the client warnings are about.
    readonly enableOfflineQueue?: unknown;
    readonly enableReadyCheck?: unknown;
    readonly failoverDetector?: unknown;
    readonly maxRetriesPerRequest?: unknown;
    readonly redisOptions?: unknown;
    readonly sentinelCommandTimeout?: unknown;
    readonly sentinels?: unknown;
    readonly slotsRefreshInterval?: unknown;
    readonly socketTimeout?: unknown;
  };
}

/** The part of a pipeline that the Redis store uses. */
export interface RedisPipeline {
  /** Adds a script by its SHA-1. */
  evalsha(sha: string, numberOfKeys: number, ...keysAndArguments: string[]): unknown;
  /** Adds a script by its text. */
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): unknown;
  /** Adds WAIT. */
  wait(replicas: number, timeout: number): unknown;
  /** Sends the commands. Resolves to the error and the reply of each. */
  exec(): Promise<unknown>;
}

/** The part of each node of a Cluster client that the Redis store uses. */
export interface RedisNode {
  /** Makes a second client for this node. */
  duplicate(...overrides: never[]): RedisSubscriber;
  /** Subscribes to the state of its connection. */
  on(event: "close", listener: () => void): unknown;
  /** The state of its connection. */
  readonly status?: string;
  /** Where it is. */
  readonly options?: { readonly host?: string | undefined; readonly port?: number | undefined };
  /** Iterates over the keys of a server. Needed only for `query()`. */
  scan?(cursor: string, match: "MATCH", pattern: string, count: "COUNT", keys: number): Promise<[string, string[]]>;
}

/** The part of the second client that the Redis store uses. */
export interface RedisSubscriber {
  /** Subscribes to channels. */
  subscribe(...channels: string[]): Promise<unknown>;
  /** Closes the connection, for good or to make a new one. */
  disconnect(reconnect?: boolean): void;
  /** Subscribes to the state of the connection. */
  on(event: "connect" | "ready" | "close" | "end" | "error", listener: () => void): unknown;
  /** Subscribes to messages. */
  on(event: "message", listener: (channel: string, message: string) => void): unknown;
  /** The state of the connection. */
  readonly status?: string;
  /** The socket, once there is one. */
  readonly stream?: { unref?(): unknown } | undefined;
}

/** The members that only a client of ioredis's shape has, so that code can test a `RedisClient` for them. */
export type LacksOfIoredis = {
  readonly [member in "isCluster" | "nodes" | "pipeline" | "status" | "stream"]?: undefined;
};

/** The keys and arguments of a script, as node-redis takes them. */
export interface NodeRedisScriptOptions {
  /** The keys. */
  keys: string[];
  /** The arguments. */
  arguments: string[];
}

/** The part of a client of node-redis 5 or 6 (one server, a pool, a Cluster or Sentinels) that the Redis store uses. */
export interface NodeRedisClient extends LacksOfIoredis {
  /** Runs a script by its SHA-1. */
  evalSha(sha: string, options: NodeRedisScriptOptions): Promise<unknown>;
  /** Runs a script by its text. */
  eval(script: string, options: NodeRedisScriptOptions): Promise<unknown>;
  /** Subscribes to the state of the connections. */
  on(event: string, listener: (error: Error) => void): unknown;
  /** Returns how many listeners an event has. */
  listenerCount(event: string): number;
  /** Whether `connect()` was called, and the client was not closed since. */
  readonly isOpen: boolean;
  /** Whether commands are sent; a pool does not know. */
  readonly isReady?: boolean;
  /** Whether a pool is being closed. */
  readonly isClosing?: boolean;
}

/** The part of Bun's `RedisClient` that the Redis store uses. */
export interface BunRedisClient extends LacksOfIoredis {
  /** Sends a command. */
  send(command: string, words: string[]): Promise<unknown>;
  /** Makes a second client with the same options. */
  duplicate(): Promise<BunRedisClient>;
  /** Connects. */
  connect(): Promise<unknown>;
  /** Subscribes to a channel. */
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<unknown>;
  /** Closes the connection. */
  close(): void;
  /** Whether it is connected. */
  readonly connected: boolean;
  /** Called when it has connected. */
  onconnect?: ((...values: never[]) => void) | null;
  /** Called when it was closed, or has given up. */
  onclose?: ((error: Error) => void) | null;
}

/** A client that `upstash()` has made: it sends each command in a request of HTTP. */
export interface UpstashClient extends LacksOfIoredis {
  /** Sends a command. Resolves to its reply, in which each number is a text. */
  postCommand(...words: string[]): Promise<unknown>;
  /** Subscribes to a channel. Yields the lines of the event stream, until the signal aborts. */
  events?(channel: string, signal: AbortSignal): AsyncIterable<string>;
  /** The URL of the database. */
  readonly url: string;
}

/** The part of a `GlideClient` of valkey-glide 2.5 that the Redis store uses. */
export interface ValkeyGlideClient extends LacksOfIoredis {
  /** Sends a command. Resolves to its reply, in which texts are bytes. */
  customCommand(words: string[], options: { decoder: 0 }): Promise<unknown>;
  /** Closes the client. */
  close(message?: string): void;
}
