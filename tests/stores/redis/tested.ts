import type { RedisClient } from "@holdfast/lock";
import { Redis } from "ioredis";
import type { NodeRedisClient } from "../../../src/stores/redis/clients/client.ts";

/** A library whose clients the Redis store takes. */
export interface ClientLibrary {
  readonly name: string;
  /** Whether it may lose messages unseen, so that its waiters poll beside them. */
  readonly losesMessages?: true;
  /** Returns a client of the same server, with the same options, as one of ioredis 6, which closes with that. */
  like(client: Redis): RedisClient;
}

/** The part of a client of node-redis that is needed to open and to close it. */
export interface NodeRedis extends NodeRedisClient {
  connect(): Promise<unknown>;
  destroy(): void;
  sendCommand(words: string[]): Promise<unknown>;
}

/** The library over which all tests of the store run. The others take long to load: `clients.ts`. */
export const IOREDIS: ClientLibrary = { name: "ioredis 6", like: (client) => client };

/** The library over which the tests of this file run. */
let library = IOREDIS;

/** Defines a test of messages alone. */
export function testOfMessages(name: string, fn: () => Promise<void>): void {
  if (!library.losesMessages) Deno.test(name, fn);
}

/** The clients that stand for those of ioredis 6. */
const clients = new WeakMap<object, RedisClient>();

/** Runs the tests of this file over a library. */
export function testOver(other: ClientLibrary): void {
  library = other;
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
