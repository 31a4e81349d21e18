// Deno only: it listens on ports in the place of a server.
/**
 * One of the two connections of a client is lost, that for messages or that for commands, and the other one works. Each
 * waiter is served within the time that docs/stores/redis.md names.
 *
 * @module
 */
import { assert } from "@std/assert";
import { acquire, type RedisClient } from "@holdfast/lock";
import { upstash } from "@holdfast/lock/upstash";
import type { Redis } from "ioredis";
import { IN_FULL, IN_PART, OF_GLIDE, OVER_HTTP } from "../stores/redis/clients.ts";
import { type ClientLibrary, idOf, tested } from "../stores/redis/tested.ts";
import { subscribed } from "../stores/redis/wakeups/subscribed.ts";
import { RedisServer } from "../support/redis_server.ts";
import { RestFront } from "../support/rest_front.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import { until } from "../support/until.ts";
import { quickest } from "./quickest.ts";

/** The longest time between two attempts of a waiter, in milliseconds: while no message can come, and always. */
const [POLL, LONGEST_POLL] = [500, 5_000];

/** The same over HTTP, beside an event stream. */
const HTTP_POLL = 1_000;

/** How long a request over HTTP may go without an answer, in milliseconds. */
const HTTP_LIMIT = 5_000;

/** How long a socket may be silent while it is waited for an answer, in milliseconds. */
const SILENCE = 2_000;

/** How much later than promised a waiter may be served on a loaded machine, in milliseconds: less than a long poll. */
const MARGIN = 3_000;

const NAMES = ["a", "b", "c"];

/** A client over HTTP with an event stream. */
const WITH_EVENTS: ClientLibrary = {
  name: "upstash with events",
  like(client) {
    const front = new RestFront(client.options.port!);
    client.on("end", () => void front.close());
    return upstash(front.options);
  },
};

/** A client that waits, behind a proxy. */
interface Scene {
  readonly client: RedisClient;
  readonly proxy: TcpProxy;
  readonly watcher: Redis;
}

/** A connection, as the server lists it. */
interface Listed {
  readonly id: string;
  readonly port: number;
}

/**
 * Has a client wait for several locks, breaks a connection, releases them, and returns how long each wait took then.
 */
async function served(
  library: ClientLibrary,
  lose: (scene: Scene) => Promise<unknown>,
  options: { socketTimeout?: number } = {},
): Promise<number[]> {
  await using server = await RedisServer.start();
  await using proxy = await TcpProxy.start(server.port);
  const watcher = server.connect();
  const client = tested(proxy.connect(options), library);
  const locks = await Promise.all(NAMES.map((name) => acquire(watcher, name, { lease: 60_000 })));
  const waits = NAMES.map(async (name) => {
    const lock = await acquire(client, name, { lease: 60_000 });
    return { lock, at: performance.now() };
  });
  for (const name of NAMES) {
    await until(async () => await watcher.zcard(`{lock:${name}}:queue`) === 1, `one is queued for ${name}`);
  }
  await subscribed(client);
  await lose({ client, proxy, watcher });
  const released = performance.now();
  await Promise.all(locks.map((lock) => lock.release()));
  const grants = await Promise.all(waits);
  await Promise.all(grants.map(({ lock }) => lock.release()));
  return grants.map(({ at }) => at - released);
}

/** Returns the connections of a type, or that of an id. */
async function list(watcher: Redis, ...what: ["TYPE" | "ID", string]): Promise<Listed[]> {
  const lines = String(await watcher.call("CLIENT", "LIST", ...what)).split("\n").filter((line) => line !== "");
  return lines.map((line) => ({ id: /^id=(\d+)/.exec(line)![1]!, port: Number(/ addr=\S*:(\d+)/.exec(line)![1]) }));
}

/** Cuts connections so that both ends notice. */
async function kill(watcher: Redis, ...what: ["TYPE" | "ID", string]): Promise<void> {
  await watcher.call("CLIENT", "KILL", ...what);
  await until(async () => (await list(watcher, ...what)).length === 0, "it is closed");
}

async function refuseMessages({ proxy, watcher }: Scene): Promise<void> {
  proxy.refuse();
  await kill(watcher, "TYPE", "pubsub");
}

async function silenceMessages({ proxy, watcher }: Scene): Promise<void> {
  const [connection, ...more] = await list(watcher, "TYPE", "pubsub");
  assert(connection !== undefined && more.length === 0, "there is one second connection");
  proxy.halfOpen(connection.port);
}

/** Lets a client wait until all are served within so many milliseconds: the machine may be slow at any moment. */
async function within(most: number, wait: () => Promise<readonly number[]>): Promise<void> {
  await quickest(most + MARGIN, async () => Math.max(...await wait()));
}

for (const library of [...IN_FULL, ...IN_PART, OF_GLIDE]) {
  Deno.test(`acquire() over ${library.name} is served while no messages can be subscribed to`, async () => {
    await within(POLL, () => served(library, refuseMessages));
  });

  Deno.test(`acquire() over ${library.name} is served when its commands' connection was cut`, async () => {
    await within(POLL, () => served(library, async ({ client, watcher }) => kill(watcher, "ID", await idOf(client))));
  });
}

for (const [library, poll] of [...IN_FULL.map((each) => [each, LONGEST_POLL] as const), [OF_GLIDE, POLL] as const]) {
  Deno.test(`acquire() over ${library.name} is served when messages stop unseen`, async () => {
    await within(poll, () => served(library, silenceMessages));
  });
}

for (const library of IN_FULL) {
  Deno.test(`acquire() over ${library.name} is served when its commands stop unseen`, async () => {
    const lose = async ({ client, proxy, watcher }: Scene) => {
      const [connection] = await list(watcher, "ID", await idOf(client));
      proxy.halfOpen(connection!.port);
    };
    await within(SILENCE + POLL, () => served(library, lose, { socketTimeout: SILENCE }));
  });
}

Deno.test("acquire() over upstash is served when its connections are cut", async () => {
  await within(POLL, () => served(OVER_HTTP, ({ proxy }) => Promise.resolve(proxy.cut())));
});

Deno.test("acquire() over upstash is served when its requests get no answer", async () => {
  await within(HTTP_LIMIT + POLL, () => served(OVER_HTTP, ({ proxy }) => Promise.resolve(proxy.halfOpen())));
});

Deno.test("acquire() over upstash is served while no event stream can be opened", async () => {
  await within(POLL, () => served(WITH_EVENTS, refuseMessages));
});

Deno.test("acquire() over upstash is served when its event stream stops unseen", async () => {
  await within(HTTP_POLL, () => served(WITH_EVENTS, silenceMessages));
});
