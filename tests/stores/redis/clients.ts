import type { RedisClient } from "@holdfast/lock";
import { upstash } from "@holdfast/lock/upstash";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import { Redis as Valkey } from "iovalkey";
import { createClient } from "redis";
import { createClient as createClient5 } from "redis5";
import { RestFront } from "../../support/rest_front.ts";
import type { BunRedisClient, NodeRedisClient } from "../../../src/stores/redis/clients/client.ts";
import { OpeningGlide } from "./clients/opening_glide.ts";

/** A library whose clients the Redis store takes. */
export interface ClientLibrary {
  readonly name: string;
  /** Returns a client of the same server, with the same options, as one of ioredis 6, which closes with that. */
  like(client: Redis): RedisClient;
}

/** The part of a client of node-redis that is needed to open and to close it. */
interface NodeRedis extends NodeRedisClient {
  connect(): Promise<unknown>;
  destroy(): void;
  sendCommand(words: string[]): Promise<unknown>;
}

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
  { name: "ioredis 6", like: (client) => client },
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
  like(client) {
    const { port = 0, db = 0 } = client.options;
    const front = new RestFront(port, db);
    client.on("end", () => void front.close());
    // Without an event stream: these tests have waiters that never leave the queue, and would keep it open.
    const { url, postCommand } = upstash(front.options);
    return { url, postCommand };
  },
};

/** The library over which the tests of this file run. */
let library = IN_FULL[0]!;

/** Defines a test of messages alone. A client that may lose them unseen has waiters that poll beside them. */
export function testOfMessages(name: string, fn: () => Promise<void>): void {
  if (library !== OVER_HTTP && library !== OF_GLIDE) Deno.test(name, fn);
}

/** The clients that stand for those of ioredis 6. */
const clients = new WeakMap<object, RedisClient>();

/** Runs the tests of this file over a library of this name. */
export function testOver(name: string): void {
  library = [...IN_FULL, ...IN_PART, OF_GLIDE, OVER_HTTP].find((each) => each.name === name)!;
}

/** Returns the client that is tested in the place of one of ioredis 6. */
export function tested(client: RedisClient, over: ClientLibrary = library): RedisClient {
  if (!(client instanceof Redis)) return client;
  const known = clients.get(client);
  if (known !== undefined) return known;
  const other = over.like(client);
  clients.set(client, other);
  if (other !== client) client.on("end", () => close(other));
  return other;
}

function close(client: RedisClient): void {
  if ("postCommand" in client) return;
  if ("evalSha" in client) client.isOpen && (client as NodeRedis).destroy();
  else if ("send" in client || "customCommand" in client) client.close();
  else (client as Redis).disconnect();
}

/** Returns whether clients of the library that is tested send a command again that was not answered. */
export function sendsAgain(): boolean {
  return library.name.startsWith("io");
}

/** Returns the number by which the server knows the connection of a client. */
export async function idOf(client: RedisClient): Promise<string> {
  if ("evalsha" in client) return String(await (client as Redis).client("ID"));
  if ("customCommand" in client) return String(await client.customCommand(["CLIENT", "ID"], { decoder: 0 }));
  return String(await (client as NodeRedis).sendCommand(["CLIENT", "ID"]));
}
