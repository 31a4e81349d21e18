import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { acquire, acquireAll, type LockTarget, type RedisClient, type Store, tryAcquire } from "@holdfast/lock";
import { cohort } from "@holdfast/lock/cohort";
import { dashboard } from "@holdfast/cli/dashboard";
import { memory } from "@holdfast/lock/memory";
import type { HandoffStore } from "../../src/handoff/handoff_store.ts";
import { SystemClock } from "../../src/time/clock.ts";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import { redis, type RedisStore } from "@holdfast/lock/redis";
import { redlock } from "@holdfast/lock/redlock";
import { LockManager } from "@holdfast/lock/web-locks";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import { storeOf } from "../../src/lock/target.ts";
import { until } from "../support/until.ts";
import { RedisServer } from "../support/redis_server.ts";

/** Returns the message with which a target is refused, by all that take one. */
async function mistake(target: unknown, includes = ""): Promise<string> {
  const { message } = await assertRejects(async () => await storeOf(target as LockTarget), TypeError, includes);
  for (const take of [() => new LockManager(target as LockTarget), () => dashboard(target as LockTarget)]) {
    assertEquals(assertThrows(take, TypeError).message, message);
  }
  return message;
}

Deno.test("storeOf() takes a store as it is", () => {
  const store = memory();
  const bare = { attempt: store.attempt, renew: store.renew, release: store.release, drift: store.drift };
  assert(storeOf(bare) === bare);
});

Deno.test("storeOf() always hands on in one way for a store that grants runs and forgets", async () => {
  const store = new MemoryStore(undefined, new SystemClock());
  const [one, same] = await Promise.all([storeOf(store), storeOf(store)]);
  assert(one === same && one !== store);
  assert(storeOf(store) === one, "given at once from now on");
  assert(storeOf(one) === one);
  assertEquals(one.capabilities, store.capabilities.filter((capability) => capability !== "runs"));
});

Deno.test("storeOf() leaves a store alone that declares runs and cannot forget", () => {
  const store = new MemoryStore(undefined, new SystemClock());
  const decorated: Store = {
    capabilities: store.capabilities,
    drift: (lease) => store.drift(lease),
    attempt: (claim, options) => store.attempt(claim, options),
    renew: (claim) => store.renew(claim),
    release: (claim) => store.release(claim),
  };
  assert(storeOf(decorated) === decorated);
});

Deno.test("storeOf() makes one store for each client of ioredis 6 and 5", async () => {
  for (const make of [() => new Redis({ lazyConnect: true }), () => new Redis5({ lazyConnect: true })]) {
    const [client, other] = [make(), make()];
    // The second call comes while the first one is loading the store.
    const [one, same, another] = await Promise.all([storeOf(client), storeOf(client), storeOf(other)]);
    assert(one === same && one !== another, "one for each client");
    assert(storeOf(client) === one, "given at once from now on");
    assertEquals(client.status, "wait", "nothing was sent");
    client.disconnect();
    other.disconnect();
  }
});

Deno.test("storeOf() rejects what is neither a store nor a client", async () => {
  const method = () => {};
  const targets = [
    ...[undefined, null, 7, "redis://localhost", method, {}, [{}], new Map()],
    { evalsha: method, eval: method, duplicate: method },
    { evalsha: method, eval: method, on: method },
    { evalsha: method, duplicate: method, on: method },
    { eval: method, duplicate: method, on: method },
    { evalsha: method, eval: method, duplicate: true, on: method },
    { attempt: method, renew: method, release: method },
    { attempt: method, renew: method, drift: method },
    { attempt: method, release: method, drift: method },
    { renew: method, release: method, drift: method },
    { attempt: method, renew: method, release: method, drift: 12 },
  ];
  for (const target of targets) await mistake(target, "store");
});

Deno.test("storeOf() says what to pass instead of what is not a target", async () => {
  const method = () => {};
  class Redis {
    evalsha() {}
  }
  // As that of WebSocket, or of socket.io.
  class Socket {
    readonly connected = true;
    send() {}
    on() {}
  }
  const mistakes: [target: unknown, ...says: string[]][] = [
    [undefined, "store", "got undefined", "new Redis(url)", 'sqlite("locks.db")'],
    [null, "store", "got null", "memory()"],
    ["redis://127.0.0.1:6379", '"redis://127.0.0.1:6379"', "new Redis(url)"],
    [new URL("rediss://127.0.0.1"), "the URL rediss://127.0.0.1", "new Redis(url)"],
    ["./locks.db", '"./locks.db"', "sqlite(path)"],
    ["locks.sqlite", "sqlite(path)"],
    ["/var/lib/locks", "sqlite(path)"],
    [":memory:", "sqlite(path)"],
    ["invoice:42", '"invoice:42"', "before the name"],
    [memory, "the function memory", "memory(…)"],
    [redis, "the function redis", "redis(…)"],
    [() => {}, "a function", "Call it"],
    // A bundler may have given it another name.
    [Redis, `the class ${Redis.name}`, `new ${Redis.name}(…)`],
    [Promise.resolve(memory()), "a Promise", "Await it"],
    [{ evalSha: method, eval: method }, "a client of node-redis without on()"],
    [{ send: method, duplicate: method }, "a RedisClient of Bun without psubscribe()"],
    [new Socket(), `an object of ${Socket.name}`, "new Redis(url)"],
    [
      { evalsha: method, eval: method, set: method },
      "@upstash/redis",
      "upstash({ url, token }) of @holdfast/lock/upstash",
    ],
    [{ prepare: method, exec: method }, "SQLite", "sqlite("],
    [{ query: method, releaseConnection: method, on: method }, "MySQL", "mysql(pool)"],
    [{ query: method, activeConnections: method, on: method }, "MariaDB", "mysql(pool)"],
    [{ getData: method, setData: method, mkdirp: method, on: method }, "ZooKeeper", "zookeeper(client)"],
    [{ read: method, write: method }, "backend", "cas(backend)"],
    [{ get: method, list: method, atomic: method, watch: method }, "a Deno.Kv", "denoKv(kv)"],
    [{ namespace: method, lease: method, get: method }, "a client of etcd", "etcd({ endpoints })"],
    ["etcd://me:secret@db:2379", '"etcd://***@db:2379"', "etcd({ endpoints: "],
    [{ query: method, connect: method, totalCount: 0 }, "a client of PostgreSQL", "postgres(pool)"],
    [Object.assign(() => {}, { unsafe: method }), "sql of postgres.js", "postgres(sql)"],
    ["postgres://me:secret@db/shop", '"postgres://***@db/shop"', "postgres(pool)"],
    [{ idFromName: method, idFromString: method, get: method }, "Durable Objects", "durableObject(namespace)"],
    [{ attempt: method, renew: method, release: method, drift: 12 }, "a Store without drift()"],
    [{ evalsha: method, duplicate: method, on: method }, "without eval()"],
    [{ host: "localhost", port: 6379 }, 'the keys "host, port"', "new Redis(url)"],
    [{}, "an empty object"],
    [new Map(), "an object of Map"],
    [[{}], "store[0]"],
    [[memory()], "store[0]", "redlock([…])"],
  ];
  for (const [target, ...says] of mistakes) {
    const message = await mistake(target);
    for (const words of says) assert(message.includes(words), `${words} in: ${message}`);
    assert(!message.includes("[object"), message);
  }
});

Deno.test("storeOf() quotes no password", async () => {
  for (const url of ["redis://user:secret@host:6379", "redis://:sec/ret@host", "redis://:sec@ret@host"]) {
    for (const target of [url, ...url.includes("c/r") ? [] : [new URL(url)]]) {
      const message = await mistake(target, "//***@host");
      assert(!/sec|ret/.test(message), message);
    }
  }
});

Deno.test("redis() names the method that a client lacks", () => {
  const client: Record<string, unknown> = { evalsha() {}, eval() {}, duplicate() {}, on() {} };
  for (const method of Object.keys(client)) {
    const { [method]: _, ...rest } = client;
    assertThrows(() => redis(rest as never), TypeError, method);
    assertThrows(() => redis({ ...rest, [method]: "no function" } as never), TypeError, method);
  }
  for (const client of [undefined, null, "redis://localhost"]) assertThrows(() => redis(client as never), TypeError);
});

Deno.test("redis() refuses options that it does not know or of the wrong kind", () => {
  const client = new Redis({ lazyConnect: true });
  const refused: [options: unknown, quoted: string][] = [
    [{ prefixes: "a" }, '"prefixes"'],
    [{ prefix: 7 }, "prefix must be a string: got 7"],
    [{ prefix: null }, "got null"],
    [{ observer: "console" }, "observer must be a function"],
    [null, "options"],
  ];
  for (const [options, quoted] of refused) assertThrows(() => redis(client, options as never), TypeError, quoted);
  client.disconnect();
});

Deno.test("all stores of a client share its listeners and its connection for wake-ups", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const holder = await acquire(server.connect(), "a");
  await storeOf(client);
  const stores = [await storeOf(client), redis(client), redis(client, { prefix: "other:" })];
  // One for the wake-ups, whatever else the client itself listens to.
  const before = client.listenerCount("end");
  const waiting = stores.slice(0, 2).map((store) => acquire(store, "a"));
  await until(async () => await client.zcard("{lock:a}:queue") === 2, "both stand in the queue");
  const clients = String(await client.call("CLIENT", "LIST", "TYPE", "pubsub"));
  assertEquals(clients.trim().split("\n").length, 1);
  assertEquals(client.listenerCount("end"), before);
  await holder.release();
  for (const acquired of waiting.map(async (lock) => await (await lock).release())) await acquired;
});

Deno.test("acquire() and redis() add no listener to a client that they know", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const warnings: Error[] = [];
  const warn = (warning: Error) => void warnings.push(warning);
  process.on("warning", warn);
  for (let i = 0; i < 30; i++) await (await acquire(client, `a${i}`)).release();
  for (let i = 0; i < 30; i++) await (await acquire(redis(client, { prefix: `${i}:` }), "a")).release();
  process.off("warning", warn);
  assertEquals(warnings.map((warning) => warning.name), []);
  for (const event of ["close", "end"]) assert(client.listenerCount(event) <= 3, `${client.listenerCount(event)}`);
});

Deno.test("a Proxy of a store is refused at once, unless it binds the methods", async () => {
  const quorum = [memory(), memory(), memory()].map((store) =>
    (store as HandoffStore).target as unknown as RedisClient
  );
  const takers: Record<string, (store: Store) => unknown> = {
    acquire: (store) => acquire(store, "a"),
    tryAcquire: (store) => tryAcquire(store, "a"),
    acquireAll: (store) => acquireAll(store, ["a", "b"]),
    cohort: (store) => cohort(store),
    dashboard: (store) => dashboard(store),
    LockManager: (store) => new LockManager(store).query(),
    redlock: (store) => redlock([store as RedisStore]),
  };
  for (const made of [memory(), redlock(quorum), cohort(memory())]) {
    const binding = new Proxy(made, {
      get: (store, key) => {
        const value = Reflect.get(store, key);
        return typeof value === "function" ? value.bind(store) : value;
      },
    });
    await (await acquire(binding, "a")).release();
    for (const [what, take] of Object.entries(takers)) {
      const says = what === "cohort" && Symbol.asyncDispose in made
        ? "target must not be a cohort"
        : "a Proxy that does not";
      await assertRejects(async () => void await take(new Proxy(made, {})), TypeError, says);
    }
  }
});
