import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { acquire, type Claim, LockLostError, type Store, StoreError, tryAcquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import type { Redis } from "ioredis";
import { lockKeys } from "../../../src/stores/redis/keys/keys.ts";
import * as scripts from "../../../src/stores/redis/scripts/generated.ts";
import { Wakeups } from "../../../src/stores/redis/wakeups/wakeups.ts";
import { until } from "../../support/until.ts";
import { tested } from "./tested.ts";
import { RedisServer } from "../../support/redis_server.ts";
import { ask, claimOf, grant, LONG } from "../../support/claims.ts";
import { acquireWoken } from "./wakeups/acquire_woken.ts";
import { subscribed } from "./wakeups/subscribed.ts";
import { connectAs, RULE } from "./rights.ts";
import { testClean, testOnServer } from "./on_server.ts";

/** The further keys of locks with a brace in their names. */
const BRACES = "~{*}lock:*";

/** What the store's `query()` takes besides. */
const QUERY = "+scan";

/** What the option replicas needs besides. */
const REPLICAS = "+wait";

/** What ioredis asks for when it connects; an option turns that off. */
const READY_CHECK = "+info";

testOnServer("acquire() and tryAcquire() reject with the server's words on a foreign key", async ({ client }) => {
  const keys = { lock: "lock:lock", queue: "{lock:queue}:queue", fence: "{lock:fence}:fence" };
  for (const key of Object.values(keys)) await client.hset(key, "mine", 1);
  for (const name of Object.keys(keys)) await assertRefused(client, name, "WRONGTYPE");
  for (const key of Object.values(keys)) assertEquals(await client.hgetall(key), { mine: "1" });
  assertEquals((await client.keys("*")).sort(), Object.values(keys).sort());
});

Deno.test("acquire() and tryAcquire() reject with the server's words on a replica", async () => {
  await using primary = await RedisServer.start(["--repl-diskless-sync-delay", "0"]);
  await using replica = await RedisServer.start(["--replicaof", "127.0.0.1", `${primary.port}`]);
  const client = replica.connect();
  await until(async () => /master_link_status:up/.test(await client.info("replication")), "the replica is in step");
  await assertRefused(client, "a", "READONLY");
  assertEquals(await primary.leftovers(), []);
});

Deno.test("acquire() and tryAcquire() reject with the server's words without memory", async () => {
  await using server = await RedisServer.start(["--maxmemory-policy", "noeviction"]);
  const client = server.connect();
  const held = await acquire(tested(client), "held");
  const kinds = [{ mode: "shared" }, { permits: 2 }, { owner: "me" }] as const;
  // Two of each: one alone is kept as an exclusive lock is.
  const others = await Promise.all(
    kinds.flatMap((kind, i) => [0, 1].map(() => acquire(tested(client), `kind ${i}`, kind))),
  );
  await client.config("SET", "maxmemory", 1);
  await assertRefused(client, "free", "OOM");
  await assertRefused(client, "held", "OOM");
  // Who holds a lock already is not disturbed.
  for (const lock of [held, ...others]) await lock.extend();
  for (const lock of [held, ...others]) await lock.release();
  assertEquals(await server.leftovers(), []);
  assert((await client.keys("*")).includes("{lock:held}:fence"), "its fence stays");
});

Deno.test("renew(), release(), evict() and steal work when the server's memory is full", async () => {
  await using server = await RedisServer.start(["--maxmemory-policy", "noeviction"]);
  const client = server.connect();
  const store = redis(tested(client));
  const mine = (kind: "exclusive" | "shared") => claimOf("a", kind, LONG, "me");
  const present: Record<string, () => Claim[]> = {
    "exclusive": () => [claimOf("a")],
    "shared alone": () => [claimOf("a", "shared")],
    "shared": () => [claimOf("a", "shared"), claimOf("a", "shared"), mine("shared")],
    "one permit": () => [claimOf("a", 2)],
    "permits": () => [claimOf("a", 2), claimOf("a", 2)],
    "owner": () => [mine("exclusive"), mine("exclusive")],
    "owner, exclusive and shared": () => [mine("exclusive"), mine("shared")],
  };
  for (const [whom, claimsOf] of Object.entries(present)) {
    for (const action of ["renew", "release", "leave", "evict", "steal"]) {
      const [claims, waiter, behind] = [claimsOf(), claimOf("a", claimsOf()[0]!.permits ?? "exclusive"), claimOf("a")];
      for (const claim of claims) await grant(store, claim);
      if (waiter.permits === undefined || claims.length === waiter.permits) await ask(store, waiter);
      if (action === "leave" && waiter.permits === undefined) await ask(store, behind);
      await client.config("SET", "maxmemory", 1);
      if (action === "renew") {
        for (const claim of claims) assertEquals(await store.renew({ ...claim, renewal: 1 }), "renewed", whom);
      } else if (action === "release") {
        for (const claim of claims) assert(await store.release(claim), whom);
      } else if (action === "leave") await store.release(waiter);
      else if (action === "evict") assertEquals(await store.evict!("a"), claims.length, whom);
      else await grant(store, claimOf("a"), { steal: true });
      await client.config("SET", "maxmemory", 0);
      await client.del(...lockKeys("lock:a"));
    }
  }
});

testOnServer("acquire() and tryAcquire() reject with the server's words without the rights", async ({ server }) => {
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
  assertEquals(await server.leftovers(), ["lock:busy"]);
});

testOnServer("attempt() names the missing right, until the user has those in the docs", async ({ server }) => {
  const admin = server.connect();
  // The tests of other runtimes find a Deno that can only define tests.
  const { env }: Partial<typeof Deno> = Deno;
  const programs = env?.get("VALKEY_SERVER");
  await using valkey = programs === undefined ? undefined : await RedisServer.start([], { REDIS_SERVER: programs });
  for (const [each, of] of [[server, admin], [valkey, valkey?.connect()]] as const) {
    if (each === undefined || of === undefined) continue;
    const client = await connectAs(each, of, "app", ["resetchannels"], { enableReadyCheck: false, keyPrefix: "my:" });
    const store = redis(tested(client));
    const advised: string[] = [];
    for (let step = 0; step < 10; step++) {
      const outcome = await store.attempt(claimOf("a"), { enqueue: true }).catch((error: unknown) => error);
      if (!(outcome instanceof Error)) break;
      assertInstanceOf(outcome, StoreError);
      assert(outcome.permanent, "for good");
      const [, rule = ""] = /"ACL SETUSER app (.*?)"/.exec(outcome.message) ?? [];
      advised.push(rule);
      await of.call("ACL", "SETUSER", "app", ...rule.split(" "));
    }
    assertEquals(advised.length, 3, "commands, keys, and the commands of the script");
    assertEquals(advised.includes("~my:lock:* ~my:{my:lock:*"), true);
  }
});

testOnServer("query() names the right that the user lacks, for good", async ({ server }) => {
  const admin = server.connect();
  const store = redis(await connectAs(server, admin, "app", Object.values(RULE).flat()));
  const error = await assertRejects(() => store.query(), StoreError, "NOPERM");
  assert(error.message.includes('"ACL SETUSER app +scan" grants it'), error.message);
  assert(error.permanent, "for good");
  await admin.call("ACL", "SETUSER", "app", QUERY);
  assertEquals(await store.query(), { held: [], pending: [] });
});

Deno.test("StoreError.permanent is true where waiting does not help, and only there", async () => {
  await using server = await RedisServer.start(["--maxmemory-policy", "noeviction"]);
  await using loading = await RedisServer.start(["--replicaof", "127.0.0.1", "1", "--replica-serve-stale-data", "no"]);
  const client = server.connect();
  const provoke = async (target: Redis, name = "a") => {
    const error = await redis(target).attempt(claimOf(name), { enqueue: true }).catch((error: unknown) => error);
    assertInstanceOf(error, StoreError);
    return [error.permanent, /(?:^|: )(?:ERR )?([A-Z]{3,})/.exec(error.message)?.[1]];
  };
  await client.hset("lock:hash", "mine", 1);
  assertEquals(await provoke(client, "hash"), [true, "WRONGTYPE"]);
  const replica = loading.connect({ enableReadyCheck: false });
  assertEquals(await provoke(replica), [false, "MASTERDOWN"]);
  await replica.config("SET", "replica-serve-stale-data", "yes");
  assertEquals(await provoke(replica), [false, "READONLY"]);
  await client.config("SET", "min-replicas-to-write", 1);
  assertEquals(await provoke(client), [false, "NOREPLICAS"]);
  await client.config("SET", "min-replicas-to-write", 0);
  await client.config("SET", "maxmemory", 1);
  assertEquals(await provoke(client), [false, "OOM"]);
  await using node = await RedisServer.start(["--cluster-enabled", "yes"]);
  assertEquals(await provoke(node.connect()), [false, "CLUSTERDOWN"]);
});

testClean("acquire() and Lock need no more rights than those in the docs", async ({ server }) => {
  const admin = server.connect();
  const rule = Object.values(RULE).flat();
  const users = {
    bare: { rule, name: "a", options: { enableReadyCheck: false } },
    braces: { rule: [...rule, BRACES], name: "b {c} d", options: { enableReadyCheck: false } },
    usual: { rule: [...rule, READY_CHECK], name: "e", options: {} },
  };
  for (const [user, { rule, name, options }] of Object.entries(users)) {
    const [client, other] = [await connectAs(server, admin, user, rule, options), server.connect()];
    const first = await acquire(tested(client), name, { lease: 60_000 });
    const waiting = [client, other].map((each) =>
      acquireWoken(tested(each), name, 60_000).then((lock) => lock.release())
    );
    const [, queue] = lockKeys(`lock:${name}`);
    await until(async () => await admin.zcard(queue) === waiting.length, "both are queued");
    assertEquals(await tryAcquire(tested(client), name), null);
    const controller = new AbortController();
    const aborted = acquire(tested(client), name, { signal: controller.signal }).catch((error: unknown) => error);
    await until(async () => await admin.zcard(queue) === waiting.length + 1, "a third one is queued");
    controller.abort("enough");
    assertEquals(await aborted, "enough");
    await until(async () => await admin.zcard(queue) === waiting.length, "it has left the queue");
    await first.extend();
    await first.release();
    await Promise.all(waiting);
    for (const kind of [{ mode: "shared" }, { permits: 2 }, { owner: "me" }] as const) {
      const held = await acquire(tested(client), name, { ...kind, lease: 60_000, renew: false });
      const { signal } = held;
      await using _thief = await acquire(tested(client), name, { steal: true });
      await until(() => signal.aborted, "the holder is notified");
    }
    const lock = await acquire(tested(client), name, { mode: "shared" });
    assertEquals(await redis(tested(client)).evict!(name), 1);
    await assertRejects(() => lock.release(), LockLostError);
    await assertRejects(() => redis(tested(client)).query!(), StoreError, "NOPERM");
    await admin.call("ACL", "SETUSER", user, QUERY);
    assertEquals(await redis(tested(client)).query!(), { held: [], pending: [] });
    const replicated = redis(tested(client), { replicas: { min: 1, timeout: 10 } });
    await assertRejects(() => acquire(replicated, name), StoreError, "NOPERM");
    await admin.call("ACL", "SETUSER", user, REPLICAS);
    await assertRejects(() => acquire(replicated, name), StoreError, "fewer than 1 replicas");
  }
});

testOnServer("acquire() does not flood a server that refuses to wake it any more", async ({ server }) => {
  const admin = server.connect();
  await admin.set("lock:a", "other", "PX", 60_000);
  const client = await connectAs(server, admin, "deaf", Object.values(RULE).flat());
  const controller = new AbortController();
  const waiting = acquire(tested(client), "a", { signal: controller.signal });
  await until(async () => await admin.zcard("{lock:a}:queue") === 1, "the waiter is queued");
  await subscribed(client);
  const before = await connections(admin);
  // The server closes the connection for wake-ups, and refuses the next one its channel.
  await admin.call("ACL", "SETUSER", "deaf", "resetchannels");
  await until(() => Wakeups.of(tested(client)).subscription.refusal !== undefined, "it is refused");
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  controller.abort(new Error("enough"));
  await assertRejects(() => waiting, Error, "enough");
  const made = await connections(admin) - before;
  assert(made > 0 && made < 30, `${made} connections`);
  await until(async () => (await server.leftovers()).join() === "lock:a", "nothing is left");
});

Deno.test("the rights that suffice are those that the scripts need", () => {
  const { attempt, renew, release, held, evict, entries } = scripts;
  const sources = [attempt, renew, release, held, evict, entries].map(({ source }) => source).join();
  const calls = [...sources.matchAll(/redis\.p?call\('(\w+)'/g)];
  const needed = new Set(calls.map(([, command]) => `+${command?.toLowerCase()}`));
  assertEquals([...needed].sort(), [...RULE.scripts].sort());
});

/** Fails unless every way of asking for a lock once is refused, the first time and with these words of the server. */
async function assertRefused(client: Redis, name: string, words: string): Promise<void> {
  const once = (store: Store, name: string) => acquire(store, name, { wait: 0 });
  for (const ask of [once, tryAcquire]) {
    let faults = 0;
    const store = redis(tested(client), { observer: ({ type }) => void (type === "fault" && faults++) });
    const error = await assertRejects(() => ask(store, name), StoreError, words);
    assertEquals(faults, 1, `${ask.name} asks once`);
    assertEquals(error.code, "store");
    assertInstanceOf(error.cause, Error);
    assert(error.cause.message.includes(words), error.cause.message);
  }
}

/** How many connections were ever made to the server. */
async function connections(admin: Redis): Promise<number> {
  return Number(/total_connections_received:(\d+)/.exec(await admin.info("stats"))?.[1]);
}

testOnServer("release() and renew() inside MULTI are no loss, and no refusal", async ({ client }) => {
  const store = redis(client);
  const held = claimOf("a", "exclusive", LONG);
  await grant(store, held);
  await client.multi({ pipeline: false });
  const calls = {
    renew: () => store.renew(held),
    release: () => store.release(held),
    attempt: () => store.attempt(claimOf("b"), { enqueue: false }),
    evict: () => store.evict("a"),
    query: () => store.query({ name: "a" }),
    list: () => store.query(),
  };
  for (const [name, call] of Object.entries(calls)) {
    const error = await assertRejects(call, Error, "the client is inside MULTI");
    assert(!(error instanceof StoreError), name);
  }
  await client.discard();
  assertEquals(await store.renew(held), "renewed");
  assertEquals(await store.release(held), true);
});
