import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { acquire, LockLostError, LockTimeoutError, StoreError, tryAcquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import type { Redis } from "ioredis";
import { lockKeys } from "../../../src/stores/redis/keys.ts";
import * as scripts from "../../../src/stores/redis/scripts.ts";
import { until } from "../../faults/until.ts";
import { RedisServer } from "../../redis_server.ts";
import { RULE } from "./rights.ts";

/** How long a refusal may take on a machine under load, in milliseconds. */
const PROMPT = 3_000;

/** The further keys of locks with a brace in their names. */
const BRACES = "~{*}lock:*";

/** What the store's `query()` takes besides. */
const QUERY = "+scan";

/** What the option replicas needs besides. */
const REPLICAS = "+wait";

/** What ioredis asks for when it connects; it can be told not to. */
const READY_CHECK = "+info";

Deno.test("acquire() and tryAcquire() reject with the server's words when a key is of another type", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const keys = { lock: "lock:lock", queue: "{lock:queue}:queue", fence: "{lock:fence}:fence" };
  for (const key of Object.values(keys)) await client.hset(key, "mine", 1);
  for (const name of Object.keys(keys)) await assertRefused(client, name, "WRONGTYPE");
  for (const key of Object.values(keys)) assertEquals(await client.hgetall(key), { mine: "1" });
  assertEquals((await client.keys("*")).sort(), Object.values(keys).sort());
});

Deno.test("acquire() and tryAcquire() reject with the server's words on a replica that is read-only", async () => {
  await using primary = await RedisServer.start(["--repl-diskless-sync-delay", "0"]);
  await using replica = await RedisServer.start(["--replicaof", "127.0.0.1", `${primary.port}`]);
  const client = replica.connect();
  await until(async () => /master_link_status:up/.test(await client.info("replication")), "the replica is in step");
  await assertRefused(client, "a", "READONLY");
  assertEquals(await primary.leftovers(), []);
});

Deno.test("acquire() and tryAcquire() reject with the server's words when its memory is full", async () => {
  await using server = await RedisServer.start(["--maxmemory-policy", "noeviction"]);
  const client = server.connect();
  const held = await acquire(client, "held");
  const kinds = [{ mode: "shared" }, { permits: 2 }, { owner: "me" }] as const;
  // Two of each: one alone is kept as an exclusive lock is.
  const others = await Promise.all(kinds.flatMap((kind, i) => [0, 1].map(() => acquire(client, `kind ${i}`, kind))));
  await client.config("SET", "maxmemory", 1);
  await assertRefused(client, "free", "OOM");
  await assertRefused(client, "held", "OOM");
  // Who holds a lock already is not disturbed.
  for (const lock of [held, ...others]) await lock.extend();
  for (const lock of [held, ...others]) await lock.release();
  assertEquals(await server.leftovers(), []);
  assert((await client.keys("*")).includes("{lock:held}:fence"), "its fence stays");
});

Deno.test("acquire() and tryAcquire() reject with the server's words when the user lacks the rights", async () => {
  await using server = await RedisServer.start();
  const admin = server.connect();
  await admin.set("lock:busy", "other");
  const { keys, channels, client, scripts } = RULE;
  const rights = {
    client: [...keys, ...channels, ...scripts],
    scripts: [...keys, ...channels, ...client],
    keys: ["~other:*", ...channels, ...client, ...scripts],
  };
  for (const [user, rule] of Object.entries(rights)) {
    // How the server says that a script may not run a command depends on its version.
    const words = user === "scripts" ? "script" : "NOPERM";
    await assertRefused(await connectAs(server, admin, user, rule), "a", words);
  }
  // A lock that is free needs no channel.
  const deaf = await connectAs(server, admin, "channels", [...keys, "resetchannels", ...client, ...scripts]);
  await assertRejects(() => acquire(deaf, "busy"), StoreError, "NOPERM");
  assertEquals(await server.leftovers(), ["lock:busy"]);
});

Deno.test("acquire() and Lock need no more rights than those in the README", async () => {
  await using server = await RedisServer.start();
  const admin = server.connect();
  const rule = Object.values(RULE).flat();
  const users = {
    bare: { rule, name: "a", options: { enableReadyCheck: false } },
    braces: { rule: [...rule, BRACES], name: "b {c} d", options: { enableReadyCheck: false } },
    usual: { rule: [...rule, READY_CHECK], name: "e", options: {} },
  };
  for (const [user, { rule, name, options }] of Object.entries(users)) {
    const [client, other] = [await connectAs(server, admin, user, rule, options), server.connect()];
    const first = await acquire(client, name, { lease: 60_000 });
    const waiting = [client, other].map((each) =>
      acquire(each, name, { lease: 60_000, wait: 20_000 }).then((lock) => lock.release())
    );
    const [, queue] = lockKeys(`lock:${name}`);
    await until(async () => await admin.zcard(queue) === waiting.length, "both are queued");
    assertEquals(await tryAcquire(client, name), null);
    const controller = new AbortController();
    const aborted = acquire(client, name, { signal: controller.signal }).catch((error: unknown) => error);
    await until(async () => await admin.zcard(queue) === waiting.length + 1, "a third one is queued");
    controller.abort("enough");
    assertEquals(await aborted, "enough");
    await until(async () => await admin.zcard(queue) === waiting.length, "it has left the queue");
    await first.extend();
    const started = performance.now();
    await first.release();
    await Promise.all(waiting);
    assert(performance.now() - started < PROMPT, "they were woken, not polled");
    for (const kind of [{ mode: "shared" }, { permits: 2 }, { owner: "me" }] as const) {
      const held = await acquire(client, name, kind);
      const { signal } = held;
      await using _thief = await acquire(client, name, { steal: true });
      await until(() => Promise.resolve(signal.aborted), "the holder hears of it");
    }
    const lock = await acquire(client, name, { mode: "shared" });
    assertEquals(await redis(client).evict!(name), 1);
    await assertRejects(() => lock.release(), LockLostError);
    await assertRejects(() => redis(client).query!(), StoreError, "NOPERM");
    await admin.call("ACL", "SETUSER", user, QUERY);
    assertEquals(await redis(client).query!(), { held: [], pending: [] });
    const replicated = redis(client, { replicas: { min: 1, timeout: 10 } });
    await assertRejects(() => acquire(replicated, name), StoreError, "NOPERM");
    await admin.call("ACL", "SETUSER", user, REPLICAS);
    await assertRejects(() => acquire(replicated, name), StoreError, "fewer than 1 replicas");
  }
  assertEquals(await server.leftovers(), []);
});

Deno.test("acquire() does not storm a server that refuses to wake it any more", async () => {
  await using server = await RedisServer.start();
  const admin = server.connect();
  await admin.set("lock:a", "other", "PX", 60_000);
  const client = await connectAs(server, admin, "deaf", Object.values(RULE).flat());
  const waiting = acquire(client, "a", { wait: 1_500 });
  await until(async () => await admin.zcard("{lock:a}:queue") === 1, "the waiter is queued");
  const before = await connections(admin);
  // The server closes the connection for wake-ups, and refuses the next one its channel.
  await admin.call("ACL", "SETUSER", "deaf", "resetchannels");
  await assertRejects(() => waiting, LockTimeoutError);
  const made = await connections(admin) - before;
  assert(made > 0 && made < 30, `${made} connections`);
  await until(async () => (await server.leftovers()).join() === "lock:a", "nothing is left");
});

Deno.test("the rights that suffice are those that the scripts need", () => {
  const { attempt, renew, release, held, evict, look } = scripts;
  const sources = [attempt, renew, release, held, evict, look].map(({ source }) => source).join();
  const calls = [...sources.matchAll(/redis\.p?call\('(\w+)'/g)];
  const needed = new Set(calls.map(([, command]) => `+${command?.toLowerCase()}`));
  assertEquals([...needed].sort(), [...RULE.scripts].sort());
});

/** Fails unless every way of asking for a lock is refused, soon and with these words of the server. */
async function assertRefused(client: Redis, name: string, words: string): Promise<void> {
  for (const ask of [acquire, tryAcquire]) {
    const started = performance.now();
    const error = await assertRejects(() => ask(client, name), StoreError, words);
    const after = performance.now() - started;
    assert(after < PROMPT, `${ask.name} rejected after ${after} ms`);
    assertEquals(error.code, "store");
    assertInstanceOf(error.cause, Error);
    assert(error.cause.message.includes(words), error.cause.message);
  }
}

/** Makes a user with nothing but these rights, and a client for it. */
async function connectAs(
  server: RedisServer,
  admin: Redis,
  username: string,
  rule: readonly string[],
  options: Parameters<RedisServer["connect"]>[0] = { enableReadyCheck: false },
): Promise<Redis> {
  await admin.call("ACL", "SETUSER", username, "reset", "on", ">secret", ...rule);
  return server.connect({ username, password: "secret", ...options });
}

/** How many connections were ever made to the server. */
async function connections(admin: Redis): Promise<number> {
  return Number(/total_connections_received:(\d+)/.exec(await admin.info("stats"))?.[1]);
}
