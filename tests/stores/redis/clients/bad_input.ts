import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, type RedisClient, StoreError, tryAcquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import { Redis as Valkey } from "iovalkey";
import { createClient } from "redis";
import { createClient as createClient5 } from "redis5";
import type { BunRedisClient } from "../../../../src/stores/redis/clients/client.ts";
import { RedisServer } from "../../../support/redis_server.ts";
import { handOver } from "./hand_over.ts";
import { openGlide } from "./opening_glide.ts";

/** A client that a test has opened, and what all libraries do with it. */
export interface Opened {
  readonly client: RedisClient;
  subscribe(channel: string): Promise<unknown>;
  close(): void;
}

interface OfNodeRedis {
  on(event: "error", listener: () => void): unknown;
  connect(): Promise<unknown>;
  subscribe(channel: string, listener: () => void): Promise<unknown>;
  destroy(): void;
}

async function ofNodeRedis(client: OfNodeRedis & RedisClient): Promise<Opened> {
  client.on("error", () => {});
  await client.connect();
  return { client, subscribe: (channel) => client.subscribe(channel, () => {}), close: () => client.destroy() };
}

function ofIoredis(client: Redis | Redis5 | Valkey): Opened {
  client.on("error", () => {});
  return { client, subscribe: (channel) => client.subscribe(channel), close: () => client.disconnect() };
}

function ofBun(port: number): Opened {
  const { RedisClient } = Reflect.get(globalThis, "Bun") as { RedisClient: new (url: string) => BunRedisClient };
  const client = new RedisClient(`redis://127.0.0.1:${port}`);
  return { client, subscribe: (channel) => client.subscribe(channel, () => {}), close: () => client.close() };
}

async function ofGlide(port: number): Promise<Opened> {
  const client = await openGlide({ port });
  return { client, subscribe: (channel) => client.subscribe([channel], 5_000), close: () => client.close() };
}

/** Opens a client of each library, with further options. */
export const OPEN: Readonly<Record<string, (port: number, options?: object) => Opened | Promise<Opened>>> = {
  "ioredis 6": (port, options = {}) => ofIoredis(new Redis({ port, host: "127.0.0.1", ...options })),
  "ioredis 5": (port, options = {}) => ofIoredis(new Redis5({ port, host: "127.0.0.1", ...options })),
  "iovalkey": (port, options = {}) => ofIoredis(new Valkey({ port, host: "127.0.0.1", ...options })),
  "node-redis 6": (port, options = {}) =>
    ofNodeRedis(createClient({ socket: { port, host: "127.0.0.1" }, ...options })),
  "node-redis 5": (port, options = {}) => {
    return ofNodeRedis(createClient5({ socket: { port, host: "127.0.0.1" }, ...options }));
  },
  "Bun": ofBun,
  "valkey-glide": ofGlide,
};

/** Those that know no option `keyPrefix`. */
const WITHOUT_PREFIX = ["node-redis 5", "Bun", "valkey-glide"];

/** Fails unless every way to ask for a lock is refused for good with these words. */
export async function assertRefused(client: RedisClient, words: string): Promise<void> {
  for (const ask of [acquire, tryAcquire]) {
    const error = await assertRejects(() => ask(client, "a"), StoreError, words);
    assert(error.permanent, error.message);
  }
}

/** Defines the tests of clients of a library that can run no scripts, or run them on other keys. */
export function testBadInput(library: string, test: (name: string, run: () => Promise<void>) => void): void {
  const open = OPEN[library]!;

  test(`${library}: acquire() rejects for good when the client was closed`, async () => {
    await using server = await RedisServer.start();
    const { client, close } = await open(server.port);
    const lock = await acquire(client, "b");
    await lock.release();
    close();
    await assertRefused(client, "closed");
    assertEquals(await server.leftovers(), []);
  });

  // One of valkey-glide runs commands beside a subscription.
  if (library !== "valkey-glide") {
    test(`${library}: acquire() rejects for good when the client is subscribed`, async () => {
      await using server = await RedisServer.start();
      // With RESP3 those of ioredis 6 and node-redis 6 run commands all the same.
      const { client, subscribe, close } = await open(server.port, { RESP: 2, protocol: 2 });
      await subscribe("news");
      await assertRefused(client, "the client is subscribed to channels: pass another one");
      close();
      assertEquals(await server.leftovers(), []);
    });
  }

  test(`${library}: acquire() puts the key prefix of the client before its keys`, async () => {
    await using server = await RedisServer.start();
    const opened = [await open(server.port, { keyPrefix: "app:" }), await open(server.port, { keyPrefix: "app:" })];
    const [from, to] = opened.map(({ client }) => client);
    await using lock = await acquire(from!, "b");
    assertEquals(await server.leftovers(), [WITHOUT_PREFIX.includes(library) ? "lock:b" : "app:lock:b"]);
    await handOver(from!, to!);
    assertEquals((await redis(to!).query()).held.map(({ name }) => name), ["b"]);
    await lock.release();
    assertEquals(await server.leftovers(), []);
    for (const { close } of opened) close();
  });
}
