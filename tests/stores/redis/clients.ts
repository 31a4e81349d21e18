import type { RedisClient } from "@holdfast/lock";
import { upstash } from "@holdfast/lock/upstash";
import { Redis as Redis5 } from "ioredis5";
import { Redis as Valkey } from "iovalkey";
import { createClient } from "redis";
import { createClient as createClient5 } from "redis5";
import { RestFront } from "../../support/rest_front.ts";
import type { BunRedisClient } from "../../../src/stores/redis/clients/client.ts";
import { OpeningGlide } from "./clients/opening_glide.ts";
import { type ClientLibrary, IOREDIS, type NodeRedis } from "./tested.ts";

function ofIoredis<T extends { disconnect(): void; on(event: "error", listener: () => void): unknown }>(
  make: (options: { host: string; port: number; keyPrefix: string; db: number }) => T & RedisClient,
): ClientLibrary["like"] {
  return ({ options: { host = "", port = 0, keyPrefix = "", db = 0, username, password } }) => {
    const login = { ...username && { username }, ...password && { password } };
    const client = make({ host, port, keyPrefix: String(keyPrefix), db, ...login });
    client.on("error", () => {});
    return client;
  };
}

function ofNodeRedis(make: (options: object) => NodeRedis): ClientLibrary["like"] {
  return ({ options: { host, port, keyPrefix, db, username, password, socketTimeout } }) => {
    // By default it is closed for good when its socket is silent for so long.
    const silence = socketTimeout === undefined ? {} : { socketTimeout, reconnectStrategy: 100 };
    const options = { database: db, username, password, socket: { host, port, ...silence } };
    const client = make({ ...options, ...keyPrefix ? { keyPrefix: String(keyPrefix) } : {} });
    client.on("error", () => {});
    client.connect().catch(() => {});
    return client;
  };
}

/** The libraries over which all of the store is tested on every change. */
export const IN_FULL: readonly ClientLibrary[] = [
  IOREDIS,
  { name: "node-redis 6", like: ofNodeRedis((options) => createClient(options)) },
];

/** The libraries over which the store suite runs on every change, and nothing else of the store. */
export const IN_PART: readonly ClientLibrary[] = [
  { name: "ioredis 5", like: ofIoredis((options) => new Redis5(options)) },
  { name: "iovalkey", like: ofIoredis((options) => new Valkey(options)) },
  { name: "node-redis 5", like: ofNodeRedis((options) => createClient5(options)) },
];

/** A client whose core is a program of the machine, which not all runtimes load. */
export const OF_GLIDE: ClientLibrary = {
  name: "valkey-glide",
  losesMessages: true,
  like({ options: { port = 0, db = 0, username = "", password, socketTimeout } }) {
    const login = password ? { credentials: { username, password } } : {};
    const patience = socketTimeout === undefined ? {} : { requestTimeout: socketTimeout };
    return new OpeningGlide({ port, databaseId: db, ...login, ...patience });
  },
};

/** The client that Bun has itself. */
export const OF_BUN: ClientLibrary = {
  name: "Bun",
  like({ options: { host, port } }) {
    const { RedisClient } = Reflect.get(globalThis, "Bun") as { RedisClient: new (url: string) => BunRedisClient };
    return new RedisClient(`redis://${host}:${port}`);
  },
};

/** A client that speaks HTTP, and the front that answers it in the place of Upstash. In Deno alone. */
export const OVER_HTTP: ClientLibrary = {
  name: "upstash",
  losesMessages: true,
  like(client) {
    const { port = 0, db = 0 } = client.options;
    const front = new RestFront(port, db);
    client.on("end", () => void front.close());
    // Without an event stream: these tests have waiters that never leave the queue, and would keep it open.
    const { url, postCommand } = upstash(front.options);
    return { url, postCommand };
  },
};
