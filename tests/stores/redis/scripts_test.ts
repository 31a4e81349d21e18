import { assert, assertEquals } from "@std/assert";
import { acquire, type Claim, type Store } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import type { Redis } from "ioredis";
import { lockKeys } from "../../../src/stores/redis/keys.ts";
import * as quorum from "../../../src/stores/redis/quorum_scripts.ts";
import * as scripts from "../../../src/stores/redis/scripts.ts";
import { slots } from "../../deployments/slots.ts";
import { until } from "../../faults/until.ts";
import { RedisServer } from "../../redis_server.ts";
import { claimOf as kindOf } from "./claims.ts";

const LONG = 60_000;
const WEEK = 7 * 24 * 60 * 60 * 1_000;

const all = Object.values({ ...scripts, ...quorum } as Record<string, unknown>).filter(isScript);

Deno.test("each script's SHA-1 is that of its source, as the server counts it", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  assert(all.length >= 3, `${all.length} scripts`);
  for (const { source, sha } of all) {
    const digest = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(source));
    assertEquals(Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join(""), sha);
    assertEquals(await client.script("LOAD", source), sha);
  }
});

Deno.test("the scripts carry the numbers of the constants", () => {
  const sources = all.map(({ source }) => source).join();
  for (const number of [scripts.POLL, 3 * scripts.POLL, scripts.CLAIM, WEEK]) {
    assert(new RegExp(`\\b${number}\\b`).test(sources), `${number}`);
  }
});

Deno.test("decodeAttempt() and decodeFlag() read the replies of clients of every kind", () => {
  for (const reply of ["1700000000123457", 1_700_000_000_123_457]) {
    assertEquals(scripts.decodeAttempt(reply), { granted: true, fence: 1_700_000_000_123_457n });
  }
  for (const busy of [[200, "1700000000123457"], ["200", "1700000000123457"]]) {
    assertEquals(scripts.decodeAttempt(busy), { granted: false, retryAfter: 200, ticket: "1700000000123457" });
  }
  assertEquals([1, "1", 1n, 0, "0", 0n].map(scripts.decodeFlag), [true, true, true, false, false, false]);
});

Deno.test("attempt() gives the server's clock in µs as the fence, not rounded", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  const lastDigits = new Set<bigint>();
  for (let i = 0; i < 50; i++) {
    const before = await microseconds(client);
    const claim = claimOf("a", LONG);
    const fence = await grant(store, claim);
    const after = await microseconds(client);
    assert(before <= fence && fence <= after, `${before} ≤ ${fence} ≤ ${after}`);
    assertEquals(await client.get(fenceKey("a")), String(fence));
    lastDigits.add(fence % 10n);
    await store.release(claim);
  }
  assert(lastDigits.size > 1, "a rounded fence would always end in the same digit");
});

Deno.test("attempt() gives a whole fence also in the first tenth of a second", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  const claim = claimOf("a", LONG);
  await grant(store, claim);
  let before = 0n;
  await until(async () => (before = await microseconds(client)) % 1_000_000n < 50_000n, "the microseconds are few");
  const fence = await grant(store, claim);
  assert(before <= fence && fence <= await microseconds(client), `${before} ≤ ${fence}`);
  await store.release(claim);
});

Deno.test("attempt() gives the last fence + 1 when that is ahead of the clock, exact up to 2^53", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  for (const last of [2n ** 51n + 1n, 2n ** 52n - 1n, 2n ** 52n + 1n, 2n ** 53n - 7n]) {
    await client.set(fenceKey("a"), String(last));
    for (let next = last + 1n; next <= last + 5n; next++) {
      const claim = claimOf("a", LONG);
      assertEquals(await grant(store, claim), next);
      assertEquals(await client.get(fenceKey("a")), String(next));
      await store.release(claim);
    }
  }
});

Deno.test("attempt() goes on from the clock when the last fence was lost or overwritten, and keeps it for 7 days", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  for (const lost of [() => client.del(fenceKey("a")), () => client.set(fenceKey("a"), "stranger")]) {
    const first = claimOf("a", LONG);
    const fence = await grant(store, first);
    await store.release(first);
    await lost();
    const began = performance.now();
    const second = claimOf("a", LONG);
    assert(await grant(store, second) > fence, "it rises all the same");
    await store.release(second);
    assertExpiry(await client.pttl(fenceKey("a")), WEEK, began);
  }
});

Deno.test("attempt() and renew() keep the lock for the lease", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  for (const lease of [1_000, 30_000, 2 ** 30]) {
    const claim = claimOf("a", lease);
    const began = performance.now();
    await grant(store, claim);
    assertEquals(await client.get("lock:a"), claim.owner);
    assertExpiry(await client.pttl("lock:a"), lease, began);
    const renewed = performance.now();
    const longer = 2 * lease - 1;
    assertEquals(await store.renew({ ...claim, lease: longer }), "renewed");
    assertExpiry(await client.pttl("lock:a"), longer, renewed);
    // A client may send again an attempt whose answer was lost: that must not make the lease shorter.
    await grant(store, claim);
    assertExpiry(await client.pttl("lock:a"), longer, renewed);
    const shorter = performance.now();
    assertEquals(await store.renew(claim), "renewed");
    assertExpiry(await client.pttl("lock:a"), lease, shorter);
    await store.release(claim);
  }
});

Deno.test("a lease of a fraction of a millisecond more is rounded up: the store keeps it no less than its holder", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  const claim = claimOf("a", 10_000.5);
  await grant(store, claim);
  const left: number[] = [];
  // Both commands arrive together, and most of the time run in the same millisecond.
  for (let i = 0; i < 50; i++) left.push((await Promise.all([store.renew(claim), client.pttl("lock:a")]))[1]);
  assertEquals(Math.max(...left), 10_001);
  await store.release(claim);
});

Deno.test("attempt() of a busy lock says when to ask again: at its end, by place, and at the latest after POLL", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  const holder = claimOf("a", 2_000);
  const began = performance.now();
  await grant(store, holder);
  const [first, second, third] = [claimOf("a", LONG), claimOf("a", LONG), claimOf("a", LONG)];
  const asked = [await ask(store, first), await ask(store, second), await ask(store, third)];
  const took = performance.now() - began;
  asked.forEach((retryAfter, rank) => {
    assert(retryAfter <= 2_001 + 20 * rank && retryAfter > 2_000 + 20 * rank - took - 2, `${retryAfter} of ${asked}`);
  });
  await store.renew({ ...holder, lease: LONG });
  assertEquals(await ask(store, first), scripts.POLL);
  await client.persist("lock:a");
  assertEquals(await ask(store, second), scripts.POLL, "also for a lock that never ends");
  for (const claim of [first, second, third, holder]) assert(await store.release(claim), "given up");
});

Deno.test("attempt() of a waiter whose turn it is gives the whole lease, and never a shorter one when its reply was lost", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const keys = lockKeys("lock:a");
  const ask = (owner: string, lease: number, ticket: unknown) => {
    return client.eval(scripts.attempt.source, 5, ...keys, owner, lease, "?holdfast:x", String(ticket));
  };
  await ask("holder", LONG, "");
  const [, ticket] = await ask("waiter", LONG, "") as unknown[];
  await client.eval(scripts.release.source, 4, ...keys.slice(0, 4), "holder", LONG);
  assert(await client.pttl("lock:a") <= scripts.CLAIM, "it is kept for the waiter");
  const fences = [await ask("waiter", LONG, ticket), await ask("waiter", 100, ticket)].map((fence) => Number(fence));
  assert(fences[0]! < fences[1]!, "they rise");
  assertEquals(await client.get("lock:a"), "waiter");
  assert(await client.pttl("lock:a") > LONG / 2);
  assertEquals(await client.eval(scripts.release.source, 4, ...keys.slice(0, 4), "waiter", LONG), 1);
  // Asked for once more when all is over, it is a lock like any other.
  assert(Number(await ask("waiter", 100, ticket)) > fences[1]!, "granted");
});

Deno.test("the queue of a lock expires when nobody in it has asked for three polls", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  const [holder, waiter] = [claimOf("a", LONG), claimOf("a", LONG)];
  await grant(store, holder);
  for (let i = 0; i < 2; i++) {
    const began = performance.now();
    await ask(store, waiter);
    const keys = (await client.keys("*")).filter((key) => !["lock:a", fenceKey("a")].includes(key));
    assert(keys.length > 0, "there is a queue");
    for (const key of keys) assertExpiry(await client.pttl(key), 3 * scripts.POLL, began);
  }
  await store.release(waiter);
  await store.release(holder);
});

Deno.test("release() keeps the lock for the next waiter for CLAIM, or the lease if that is shorter", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  for (const [lease, kept] of [[LONG, scripts.CLAIM], [400, 400]] as const) {
    const [holder, waiter] = [claimOf("a", LONG), claimOf("a", LONG)];
    await grant(store, holder);
    await ask(store, waiter);
    const began = performance.now();
    assert(await store.release({ ...holder, lease }), "released");
    assertExpiry(await client.pttl("lock:a"), kept, began);
    await grant(store, waiter);
    await store.release(waiter);
  }
});

Deno.test("release() passes over a waiter whose client is gone, at once", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const gone = server.connect();
  const [store, other] = [redis(client), redis(gone)];
  const [holder, dead, alive] = [claimOf("a", LONG), claimOf("a", LONG), claimOf("a", LONG)];
  await grant(store, holder);
  await ask(other, dead);
  await ask(store, alive);
  gone.disconnect();
  await until(async () => await subscribers(client) === 1, "the server has noticed");
  await store.release(holder);
  assertEquals(await client.get("lock:a"), alive.owner);
  await grant(store, alive);
  await store.release(alive);
});

Deno.test("the scripts use no key but those that they are given", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  // What is still under way when ioredis begins to monitor confuses it.
  await client.ping();
  const monitor = server.adopt(await client.monitor());
  const commands: { args: string[]; source: string }[] = [];
  monitor.on("monitor", (_time: string, args: string[], source: string) => commands.push({ args, source }));
  for (const name of ["a", "b{c}d"]) {
    await liveThrough(client, name);
    await liveTogether(client, name);
  }
  await client.echo("the end");
  await until(() => Promise.resolve(commands.at(-1)?.args[1] === "the end"), "the monitor has shown all");

  const ran = new Set<string>();
  let given: string[] = [];
  let called = 0;
  for (const { args, source } of commands) {
    const [name, script, number] = args;
    if (source === "lua") {
      called++;
      for (const key of await keysOf(client, args)) assert(given.includes(key), `${args.join(" ")} beside ${given}`);
    } else if (/^eval/i.test(name!)) {
      given = args.slice(3, 3 + Number(number));
      ran.add(script!);
    }
  }
  assert(all.every(({ sha }) => ran.has(sha)), "every script ran");
  assert(called > 30, `${called} commands`);
});

Deno.test("the scripts run on a server in cluster mode, for names of every kind", async () => {
  await using server = await RedisServer.start(["--cluster-enabled", "yes"]);
  const client = server.connect();
  await client.cluster("ADDSLOTS", ...slots());
  await until(async () => String(await client.cluster("INFO")).includes("cluster_state:ok"), "the cluster is up");
  for (const name of ["a", "a b:c", "😀", "{}", "}{", "a}b{c", "a{b}c", "{a}"]) {
    await liveThrough(client, name);
    await liveTogether(client, name);
  }
  const prefixed = server.connect({ keyPrefix: "app{1}:" });
  await liveThrough(prefixed, "a}b{c");
  await liveTogether(prefixed, "a}b{c");
});

/** Everything that may happen to a lock: held, waited for, handed over, renewed, left to expire, given up. */
async function liveThrough(client: Redis, name: string): Promise<void> {
  const store = redis(client);
  const [holder, first, second, third] = [
    claimOf(name, LONG),
    claimOf(name, 50),
    claimOf(name, LONG),
    claimOf(name, LONG),
  ];
  await grant(store, holder);
  assertEquals(await store.renew(holder), "renewed");
  assert(!(await store.attempt(first, { enqueue: false })).granted, "busy");
  for (const waiter of [first, second, third, first]) await ask(store, waiter);
  assert(await store.release(third), "it leaves the queue");
  // For no longer than the lease of whoever serves is it kept for the first.
  assert(await store.release({ ...holder, lease: 250 }), "and the first is served");
  await grant(store, first);
  // The lease of the first ends: whoever asks next serves the second, whether that is itself or not.
  await until(async () => await client.exists(`lock:${name}`) === 0, "the lease has ended");
  assertEquals(await store.renew(first), "lost");
  await ask(store, holder);
  await grant(store, second);
  assert(await store.release(second), "the holder waits again and is served");
  await grant(store, holder);
  assert(await store.release(holder) && !await store.release(holder), "released once");
  const [lock, other] = [await acquire(store, name), acquire(store, name)];
  await lock.release();
  await (await other).release();
  for (const enqueue of [true, false]) {
    const vote = await store.vote(holder, { enqueue, guess: 1n, maxClockSkew: 0 });
    assert(vote.granted && !vote.raised && vote.counter > 1n, "an old guess raises nothing");
    assert(!(await store.vote(first, { enqueue, guess: 1n, maxClockSkew: 0 })).granted, "busy");
    assert(await store.confirm(holder, vote.counter + 1n), "a higher fence is confirmed");
    assert(!await store.confirm(holder, vote.counter + 1n), "and only once");
    assert(!await store.retake(first, vote.counter + 1n), "it is held");
    await store.release(first);
    await store.release(holder);
    assert(!await store.retake(holder, vote.counter), "the counter is another");
    assert(await store.retake(holder, vote.counter + 1n) && await store.release(holder), "it is taken back");
  }
}

/** The same of locks that several may hold, with owners that come again, thieves and operators. */
async function liveTogether(client: Redis, name: string): Promise<void> {
  const store = redis(client);
  for (const kind of ["shared", 2] as const) {
    const mine = () => kindOf(name, kind, LONG, "me");
    const [one, two, again, brief] = [kindOf(name, kind), mine(), mine(), { ...mine(), lease: 50 }];
    for (const claim of [one, two, again, brief]) await grant(store, claim);
    for (const claim of [one, two]) assertEquals(await store.renew(claim), "renewed");
    const [writer, ...waiters] = [kindOf(name, kind === 2 ? 2 : "exclusive"), kindOf(name, kind), kindOf(name, kind)];
    for (const claim of [writer!, ...waiters]) await ask(store, claim);
    assert("conflict" in await store.attempt(kindOf(name, 3), { enqueue: true }), "it does not go with them");
    await until(async () => (await store.query!()).held.length === 3, "one has ended");
    for (const claim of [one, two, again]) assert(await store.release(claim), "released");
    for (const claim of [writer!, ...waiters]) {
      await grant(store, claim);
      assert(await store.release(claim), "released");
    }
    await grant(store, one);
    await grant(store, kindOf(name, kind));
    await ask(store, kindOf(name, kind === 2 ? 2 : "exclusive", LONG, "you"));
    const thief = kindOf(name, "exclusive", LONG, "me");
    assert((await store.attempt(thief, { enqueue: false, steal: true })).granted, "stolen");
    assert((await store.query!()).held.length > 0, "it is listed");
    assertEquals(await store.evict!(name), 1);
    await store.eviction!(one, new AbortController().signal);
    const { pending, held } = await store.query!();
    for (const entry of [...pending, ...held]) assertEquals(entry.name, name);
    await client.del(...lockKeys(`lock:${name}`));
  }
}

function claimOf(name: string, lease: number): Claim {
  return { name, owner: crypto.randomUUID(), mode: "exclusive", lease };
}

async function grant(store: Store, claim: Claim): Promise<bigint> {
  const attempt = await store.attempt(claim, { enqueue: false });
  assert(attempt.granted, "granted");
  return attempt.fence;
}

/** Queues, or asks again, and gives when to ask next. */
async function ask(store: Store, claim: Claim): Promise<number> {
  const attempt = await store.attempt(claim, { enqueue: true });
  assert("retryAfter" in attempt, "busy");
  return attempt.retryAfter;
}

/** A key that was given `ms` milliseconds some time after `began` has at most that, and no less than is left of it. */
function assertExpiry(pttl: number, ms: number, began: number): void {
  assert(pttl <= ms && pttl >= ms - (performance.now() - began) - 2, `${pttl} ms are left of ${ms}`);
}

function fenceKey(name: string): string {
  return lockKeys(`lock:${name}`).find((key) => key.endsWith(":fence"))!;
}

async function microseconds(client: Redis): Promise<bigint> {
  const [seconds, micros] = await client.time();
  return BigInt(seconds!) * 1_000_000n + BigInt(micros!);
}

async function subscribers(client: Redis): Promise<number> {
  return String(await client.call("CLIENT", "LIST", "TYPE", "pubsub")).split("\n").filter((line) => line !== "").length;
}

/** The keys of a command, as the server sees them. */
async function keysOf(client: Redis, command: string[]): Promise<string[]> {
  if (command.length === 1) return [];
  try {
    return await client.call("COMMAND", "GETKEYS", ...command) as string[];
  } catch (error) {
    assert(String(error).includes("no key arguments"), `${command}: ${error}`);
    return [];
  }
}

function isScript(value: unknown): value is scripts.Script {
  return typeof value === "object" && value !== null && "source" in value && "sha" in value;
}
