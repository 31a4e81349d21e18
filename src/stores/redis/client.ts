/**
 * What the Redis store needs of a client: the shape of ioredis 5 and 6 (one server, Sentinel or Cluster) and of
 * iovalkey. Structural, so that no client library is a dependency and clients from any copy of one work.
 */
export interface RedisClient {
  /** Runs a script by its SHA-1. */
  evalsha(sha: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Runs a script by its text. */
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Makes a second client with the same options, for the subscription. */
  duplicate(...overrides: never[]): RedisSubscriber;
  /** Sends several commands together over one connection; only for the option `replicas`. */
  pipeline?(): RedisPipeline;
  /** Listens to the life of the connection: `"close"` and `"end"`; of a Cluster client also to that of its nodes. */
  on(event: "close" | "end" | "+node", listener: (node: RedisNode) => void): unknown;
  /** The state of the connection: `"end"` when it was closed for good. */
  readonly status?: string;
  /** The socket, once there is one; a Cluster client has none of its own. */
  readonly stream?: { cork?(): void; uncork?(): void } | undefined;
  /** Whether this is a Cluster client. */
  readonly isCluster?: boolean;
  /** The nodes that a Cluster client knows. */
  nodes?(role?: "master"): readonly RedisNode[];
  /** Goes through the keys of a server; only for `query()`. */
  scan?: RedisNode["scan"];
  /** The options that it was made with. */
  readonly options?: {
    readonly keyPrefix?: string | Uint8Array | undefined;
    readonly host?: string | undefined;
    readonly port?: number | undefined;
    // Only looked at for the advice that a store gives.
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

/** What the Redis store needs of a pipeline. */
export interface RedisPipeline {
  /** Adds a script by its SHA-1. */
  evalsha(sha: string, numberOfKeys: number, ...keysAndArguments: string[]): unknown;
  /** Adds a script by its text. */
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): unknown;
  /** Adds WAIT. */
  wait(replicas: number, timeout: number): unknown;
  /** Sends them; resolves to the error or the reply of each. */
  exec(): Promise<unknown>;
}

/** What the Redis store needs of each node of a Cluster client. */
export interface RedisNode {
  /** Makes a second client of this node. */
  duplicate(...overrides: never[]): RedisSubscriber;
  /** Listens to the life of its connection. */
  on(event: "close", listener: () => void): unknown;
  /** The state of its connection. */
  readonly status?: string;
  /** Goes through the keys of a server; only for `query()`. */
  scan?(cursor: string, match: "MATCH", pattern: string, count: "COUNT", keys: number): Promise<[string, string[]]>;
}

/** What the Redis store needs of the second client. */
export interface RedisSubscriber {
  /** Subscribes to channels. */
  subscribe(...channels: string[]): Promise<unknown>;
  /** Closes the connection: for good, or to make a new one. */
  disconnect(reconnect?: boolean): void;
  /** Listens to the life of the connection. */
  on(event: "connect" | "ready" | "close" | "end" | "error", listener: () => void): unknown;
  /** Listens to messages. */
  on(event: "message", listener: (channel: string, message: string) => void): unknown;
  /** The state of the connection. */
  readonly status?: string;
  /** The socket, once there is one. */
  readonly stream?: { unref?(): unknown } | undefined;
}
