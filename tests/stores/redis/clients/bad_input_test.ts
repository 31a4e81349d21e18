// Deno only: it tests libraries that have timers for a while after a command.
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { acquire, LockLostError, type RedisClient, StoreError } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { createClient, createClientPool, createCluster, createSentinel } from "redis";
import {
  createClient as createClient5,
  createClientPool as createClientPool5,
  createCluster as createCluster5,
  createSentinel as createSentinel5,
} from "redis5";
import { RedisServer } from "../../../support/redis_server.ts";
import { until } from "../../../support/until.ts";
import { assertRefused, OPEN, testBadInput } from "./bad_input.ts";
import { handOver } from "./hand_over.ts";

/** Much longer than a test, in milliseconds: nobody is notified by a renewal. */
const HOUR = 3_600_000;

for (const library of Object.keys(OPEN).filter((name) => name !== "Bun")) {
  testBadInput(library, (name, fn) => Deno.test({ name, fn }));
}

for (const name of ["node-redis 6", "node-redis 5"]) {
  Deno.test(`${name}: acquire() gives the same over RESP 2 and 3, and over buffers`, async () => {
    await using server = await RedisServer.start();
    // The replies of this type are buffers, as a program may want them.
    const BULK_STRING = "$".charCodeAt(0);
    const options = [{ RESP: 2 }, { RESP: 3 }, { commandOptions: { typeMapping: { [BULK_STRING]: Buffer } } }];
    const opened = await Promise.all(options.map((each) => OPEN[name]!(server.port, each)));
    const clients = opened.map(({ client }) => client);
    for (const [i, from] of clients.entries()) {
      const to = clients[(i + 1) % clients.length]!;
      await handOver(from, to);
      const lock = await acquire(from, "kind", { permits: 2, owner: "me", meta: { job: "7" }, lease: HOUR });
      const { signal } = lock;
      const { held } = await redis(to).query();
      assertEquals(held.map(({ owner, meta, fence }) => [owner, meta?.["job"], fence]), [["me", "7", lock.fence]]);
      const one = redis(from, { replicas: { min: 1, timeout: 10 } });
      await assertRejects(() => acquire(one, "b", { wait: 0 }), StoreError, "fewer than 1 replicas");
      assertEquals(await redis(to).evict("kind"), 1);
      await until(() => signal.aborted, "the holder is notified");
      await assertRejects(() => lock.release(), LockLostError);
    }
    for (const { close } of opened) await close();
    assertEquals(await server.leftovers(), []);
  });
}

for (const name of ["ioredis 6", "node-redis 6", "node-redis 5", "valkey-glide"]) {
  Deno.test(`${name}: acquire() over RESP 3 acquires beside a subscription`, async () => {
    await using server = await RedisServer.start();
    const { client, subscribe, close } = await OPEN[name]!(server.port, { RESP: 3, protocol: 3 });
    await subscribe("news");
    await handOver(client, client);
    close();
    assertEquals(await server.leftovers(), []);
  });
}

Deno.test("acquire() says that a client of node-redis is not connected, of each kind", async () => {
  const options = { name: "main", sentinelRootNodes: [], rootNodes: [] };
  const makes = [createClient, createClientPool, createCluster, createSentinel];
  const makes5 = [createClient5, createClientPool5, createCluster5, createSentinel5];
  for (
    const make of [
      ...makes,
      ...makes5,
    ] as ((options: object) => RedisClient & { on(event: "error", listener: () => void): unknown })[]
  ) {
    const client = make(options);
    client.on("error", () => {});
    await assertRefused(client, "node-redis needs connect() before it is used");
  }
});

Deno.test("acquire() rejects a client of an older node-redis, and sends nothing", async () => {
  const sent: unknown[] = [];
  const send = (...words: unknown[]) => sent.push(words) > 0;
  const third = { evalsha: send, eval: send, duplicate: send, on: send, ["internal_send_command"]: send };
  const fourth = { evalSha: send, eval: send, on: send, disconnect: send };
  for (const [version, client] of Object.entries({ 3: third, 4: fourth })) {
    const words = `client must be one of node-redis 5 or 6: got one of version ${version}`;
    await assertRejects(() => acquire(client as never, "a"), TypeError, words);
    assertThrows(() => redis(client as never), TypeError, words);
  }
  assertEquals(sent, []);
});

Deno.test("redis() rejects a client of a Bun before 1.4, and sends nothing", async () => {
  const client = {
    connected: true,
    send: () => Promise.reject(new Error("sent")),
    duplicate() {},
    psubscribe() {},
  } as never;
  Reflect.set(globalThis, "Bun", { version: "1.3.14" });
  try {
    const words = "client must be one of Bun 1.4 or later: the RedisClient of Bun 1.3.14 mixes up replies";
    assertThrows(() => redis(client), TypeError, words);
    Reflect.set(globalThis, "Bun", { version: "1.4.0" });
    await assertRejects(() => redis(client).query({ name: "a" }), Error, "sent");
  } finally {
    Reflect.deleteProperty(globalThis, "Bun");
  }
});
