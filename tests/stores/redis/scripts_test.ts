import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, type Claim, StoreError } from "@holdfast/lock";
import type { Redis } from "ioredis";
import { lockKeys } from "../../../src/stores/redis/keys/keys.ts";
import { attempt } from "../../../src/stores/redis/commands/attempt.ts";
import type { Script } from "../../../src/stores/redis/commands/command.ts";
import { decodeFlag } from "../../../src/stores/redis/commands/values.ts";
import { MIN_RESERVATION_MS, POLL_MS, RESERVATION_MS } from "../../../src/stores/redis/constants.ts";
import * as scripts from "../../../src/stores/redis/scripts/generated.ts";
import { slots } from "../../deployments/slots.ts";
import { until } from "../../support/until.ts";
import { RedisServer } from "../../support/redis_server.ts";
import { atTime } from "./at_time.ts";
import { ask, claimOf as kindOf, grant } from "../../support/claims.ts";
import { counterAt } from "./counter.ts";
import { subscribed } from "./wakeups/subscribed.ts";
import { serverStore } from "../../support/server_store.ts";
import { testClean, testOnServer } from "./on_server.ts";

const LONG = 60_000;
const WEEK = 7 * 24 * 60 * 60 * 1_000;

const all: readonly Script[] = Object.values(scripts);

testOnServer("Script.sha is the SHA-1 of the source, as the server computes it", async ({ client }) => {
  assert(all.length >= 3, `${all.length} scripts`);
  for (const { source, sha } of all) {
    const digest = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(source));
    assertEquals(Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join(""), sha);
    assertEquals(await client.script("LOAD", source), sha);
  }
});

Deno.test("the scripts carry the numbers of the constants", () => {
  const sources = all.map(({ source }) => source).join();
  for (const number of [POLL_MS, 3 * POLL_MS, RESERVATION_MS, MIN_RESERVATION_MS, WEEK]) {
    assert(new RegExp(`\\b${number}\\b`).test(sources), `${number}`);
  }
});

Deno.test("attempt.decode() and decodeFlag() read the replies of clients of every kind", () => {
  const input = { claim: claimOf("a", LONG) };
  for (const reply of ["1700000000123457", 1_700_000_000_123_457]) {
    assertEquals(attempt.decode(reply, input), { granted: true, fence: 1_700_000_000_123_457n });
  }
  for (const busy of [[200, "1700000000123457"], ["200", "1700000000123457"]]) {
    assertEquals(attempt.decode(busy, input), { granted: false, retryAfter: 200, ticket: "1700000000123457" });
  }
  assertEquals([1, "1", 1n, 0, "0", 0n].map(decodeFlag), [true, true, true, false, false, false]);
});

testOnServer("attempt() gives the server's clock in µs as the fence, not rounded", async ({ client, store }) => {
  const lastDigits = new Set<bigint>();
  for (let i = 0; i < 50; i++) {
    const before = await microseconds(client);
    const claim = claimOf("a", LONG);
    const fence = await grant(store, claim);
    const after = await microseconds(client);
    assert(before <= fence && fence <= after, `${before} ≤ ${fence} ≤ ${after}`);
    assertEquals(await counterAt(client, fenceKey("a")), String(fence));
    lastDigits.add(fence % 10n);
    await store.release(claim);
  }
  assert(lastDigits.size > 1, "a rounded fence would always end in the same digit");
});

testOnServer("attempt() gives a whole fence also in the first tenth of a second", async ({ client, store }) => {
  const claim = claimOf("a", LONG);
  await grant(store, claim);
  let before = 0n;
  await until(async () => (before = await microseconds(client)) % 1_000_000n < 50_000n, "the microseconds are few");
  const fence = await grant(store, claim);
  assert(before <= fence && fence <= await microseconds(client), `${before} ≤ ${fence}`);
  await store.release(claim);
});

testOnServer("attempt() grants the last fence + 1 when that is ahead of the clock", async ({ client, store }) => {
  for (const last of [2n ** 51n + 1n, 2n ** 52n - 1n, 2n ** 52n + 1n, 2n ** 53n - 7n]) {
    await client.set(fenceKey("a"), String(last));
    for (let next = last + 1n; next <= last + 5n; next++) {
      const claim = claimOf("a", LONG);
      assertEquals(await grant(store, claim), next);
      assertEquals(await counterAt(client, fenceKey("a")), String(next));
      await store.release(claim);
    }
  }
});

testOnServer("attempt() issues no fence twice, also when the clock shows the last one", async ({ client }) => {
  const last = 1_700_000_000_000_123n;
  for (const time of [last - 1n, last, last + 1n]) {
    await client.set(fenceKey("a"), String(last));
    const keys = lockKeys("lock:a");
    const fence = await client.eval(atTime(scripts.attempt, time), keys.length, ...keys, crypto.randomUUID(), LONG);
    assertEquals(fence, String(last + 1n), `at ${time - last} µs`);
    await client.del("lock:a");
  }
});

testOnServer(
  "attempt() and confirm() refuse a fence above 2^53 - 1, and nothing is held",
  async ({ client, store }) => {
    const highest = 2n ** 53n - 1n;
    await client.set(fenceKey("a"), String(highest - 1n));
    const holder = claimOf("a", LONG);
    assertEquals(await grant(store, holder), highest);
    await store.release(holder);
    const options = { enqueue: false, guess: highest + 1n, maxClockSkew: 2 ** 50 };
    for (const value of [String(highest), String(highest + 1n), "1e300", "inf"]) {
      await client.set(fenceKey("a"), value);
      const asked = [claimOf("a", LONG), kindOf("a", "shared"), kindOf("a", 2), kindOf("a", "exclusive", LONG, "me")];
      const votes = asked.slice(0, 2).map((claim) => () => store.vote(claim, options));
      for (const ask of [...asked.map((claim) => () => store.attempt(claim, { enqueue: true })), ...votes]) {
        const error = await assertRejects(ask, StoreError, value);
        assert(error.permanent, "waiting is of no use");
        assertEquals(await client.keys("*"), [fenceKey("a")]);
        assertEquals(await counterAt(client, fenceKey("a")), value);
      }
    }
    await client.del(fenceKey("a"));
    const reader = kindOf("a", "shared");
    await grant(store, reader);
    // Who shares the lock already keeps it when a second one is refused.
    await client.set(fenceKey("a"), String(highest));
    await assertRejects(() => store.attempt(kindOf("a", "shared"), { enqueue: true }), StoreError);
    assertEquals(await store.renew(reader), "renewed");
    await client.del(fenceKey("a"));
    await assertRejects(() => store.confirm(reader, highest + 1n), StoreError);
    assert(await store.confirm(reader, highest), "the highest one is confirmed");
    assert(await store.release(reader), "released");
  },
);

testOnServer("attempt() keeps a fence until 7 days after the clock has reached it", async ({ client }) => {
  const keys = lockKeys("lock:a");
  const month = 30 * 24 * 60 * 60 * 1_000;
  const now = 1_700_000_000_000_000n;
  const ahead = String(now + BigInt(month) * 1_000n);
  const scripted: [script: Script, ...argv: (string | number)[]][] = [
    [scripts.attempt, "holder", LONG],
    // A guess may be so far ahead of the clock, or the counter be so already.
    [scripts.vote, "holder", LONG, "", "", "", "", ahead, month],
    [scripts.vote, "holder", LONG, "", "", "", "", String(now), 0],
    [scripts.confirm, "holder", String(BigInt(ahead) + 1n)],
  ];
  for (const [script, ...argv] of scripted) {
    await client.set(fenceKey("a"), script === scripts.vote && argv[6] === ahead ? "1" : ahead);
    await client.set("lock:a", "holder", "PX", LONG);
    if (script !== scripts.confirm) await client.del("lock:a");
    const began = performance.now();
    await client.eval(atTime(script, now), keys.length, ...keys, ...argv);
    assert(BigInt(await counterAt(client, fenceKey("a")) ?? 0) >= BigInt(ahead), "it is there");
    assertExpiry(await client.pttl(fenceKey("a")), WEEK + month + 1, began);
    await client.del("lock:a");
  }
});

testOnServer("attempt() gives rising tickets, although the clock was set back", async ({ client, store }) => {
  const [holder, first, second, third] = [1, 2, 3, 4].map(() => claimOf("a", LONG)) as [Claim, Claim, Claim, Claim];
  const [, queue] = lockKeys("lock:a");
  await grant(store, holder);
  await ask(store, first);
  // An hour ago the clock was an hour ahead.
  await client.zadd(queue, String(await microseconds(client) + 3_600_000_000n), first.owner);
  for (const claim of [second, third]) await ask(store, claim);
  assertEquals(await client.zrange(queue, 0, "-1"), [first, second, third].map(({ owner }) => owner));
  for (const claim of [first, second, third, holder]) await store.release(claim);
});

testClean(
  "release() passes over a waiter that was not seen for three polls, and no other",
  async ({ client, store }) => {
    const [, , waiters] = lockKeys("lock:a");
    for (const [unseen, served] of [[3 * POLL_MS, "the next"], [2 * POLL_MS, "it"]] as const) {
      const [holder, silent, next] = [claimOf("a", LONG), claimOf("a", LONG), claimOf("a", LONG)];
      await grant(store, holder);
      for (const claim of [silent, next]) await ask(store, claim);
      // As of a client whose subscription cannot be proven: in a Cluster, for instance.
      const seen = await microseconds(client) / 1_000n - BigInt(unseen);
      await client.hset(waiters, silent.owner, `${seen}?holdfast:${crypto.randomUUID()}@\0`);
      await store.release(holder);
      assertEquals(await client.get("lock:a"), served === "it" ? silent.owner : next.owner, `${served} is served`);
      for (const claim of [silent, next]) await store.release(claim);
    }
  },
);

testOnServer("attempt() takes the fence from the clock when the last one was lost", async ({ client, store }) => {
  for (const lost of [() => client.del(fenceKey("a")), () => client.set(fenceKey("a"), "rival")]) {
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

testOnServer("attempt() and renew() keep the lock for the lease", async ({ client, store }) => {
  for (const lease of [20_000, 60_000, 2 ** 30]) {
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

testClean("renew() of a fresh owner needs the lock's own key only", async ({ client, store }) => {
  for (const kind of ["exclusive", "shared"] as const) {
    const claim = kindOf("a", kind);
    await grant(store, claim);
    const renew = (lease: number, ...number: number[]) => {
      return client.eval(scripts.renew.source, 1, "lock:a", claim.owner, lease, ...number);
    };
    const replies = [
      await renew(LONG),
      await renew(LONG, 1),
      await renew(POLL_MS - 100, 2),
      await renew(100, 1),
      await renew(100),
    ];
    assertEquals(replies, [1, 1, 2, 1, 1]);
    assertEquals(await renew(LONG, 3), 1);
    assert(await client.pttl("lock:a") > LONG / 2, "the last one counts");
    assert(await store.release(claim), "released");
  }
});

testOnServer("renew() rounds a lease up to whole milliseconds", async ({ client, store }) => {
  const claim = claimOf("a", 10_000.5);
  await grant(store, claim);
  const left: number[] = [];
  // Both commands arrive together, and most of the time run in the same millisecond.
  for (let i = 0; i < 50; i++) left.push((await Promise.all([store.renew(claim), client.pttl("lock:a")]))[1]);
  assertEquals(Math.max(...left), 10_001);
  await store.release(claim);
});

testOnServer("attempt() of a busy lock returns the next poll if its lease ends later", async ({ client, store }) => {
  await subscribed(client);
  const [holder, waiter] = [claimOf("a", LONG), claimOf("a", LONG)];
  await grant(store, holder);
  assertEquals(await ask(store, waiter), POLL_MS);
  await client.persist("lock:a");
  assertEquals(await ask(store, waiter), POLL_MS, "also for a lock that never ends");
  for (const claim of [waiter, holder]) assert(await store.release(claim), "given up");
});

testOnServer("attempt() of the next waiter grants the whole lease, also after a lost reply", async ({ client }) => {
  const keys = lockKeys("lock:a");
  const ask = (owner: string, lease: number, ticket: unknown) => {
    return client.eval(
      scripts.attempt.source,
      keys.length,
      ...keys,
      owner,
      lease,
      "",
      "?holdfast:x",
      "",
      String(ticket),
    );
  };
  await ask("holder", LONG, "");
  const [, ticket] = await ask("waiter", LONG, "") as unknown[];
  await client.eval(scripts.release.source, 5, ...keys.slice(0, 5), "holder", LONG);
  assert(await client.pttl("lock:a") <= RESERVATION_MS, "it is kept for the waiter");
  const fences = [await ask("waiter", LONG, ticket), await ask("waiter", 100, ticket)].map((fence) => Number(fence));
  assert(fences[0]! < fences[1]!, "they rise");
  assertEquals(await client.get("lock:a"), "waiter");
  assert(await client.pttl("lock:a") > LONG / 2);
  assertEquals(await client.eval(scripts.release.source, 5, ...keys.slice(0, 5), "waiter", LONG), 1);
  // Asked for once more when all is over, it is a lock like any other.
  assert(Number(await ask("waiter", 100, ticket)) > fences[1]!, "granted");
});

testOnServer("vote() of the next waiter never makes its lease shorter when repeated", async ({ client }) => {
  const keys = lockKeys("lock:a");
  const vote = (owner: string, lease: number, ticket: unknown) => {
    const args = [owner, lease, "", "?holdfast:x", String(ticket), "", "1", "0"];
    return client.eval(scripts.vote.source, keys.length, ...keys, ...args);
  };
  await vote("holder", LONG, "");
  const [, ticket] = await vote("waiter", LONG, "") as unknown[];
  await client.eval(scripts.release.source, 5, ...keys.slice(0, 5), "holder", LONG);
  for (const lease of [LONG, 100]) {
    assertEquals(String(await vote("waiter", lease, ticket)), "1", "granted");
    assert(await client.pttl("lock:a") > LONG / 2, "the longer lease counts");
  }
});

testOnServer("attempt() leaves a queue that expires when nobody asks for three polls", async ({ client, store }) => {
  const [holder, waiter] = [claimOf("a", LONG), claimOf("a", LONG)];
  await grant(store, holder);
  for (let i = 0; i < 2; i++) {
    const began = performance.now();
    await ask(store, waiter);
    const keys = (await client.keys("*")).filter((key) => !["lock:a", fenceKey("a")].includes(key));
    assert(keys.length > 0, "there is a queue");
    for (const key of keys) assertExpiry(await client.pttl(key), 3 * POLL_MS, began);
  }
  await store.release(waiter);
  await store.release(holder);
});

testOnServer(
  "release() reserves the lock for RESERVATION_MS, or the lease if that is shorter",
  async ({ client }) => {
    const store = serverStore(client);
    for (const [lease, kept] of [[LONG, RESERVATION_MS], [400, 400]] as const) {
      const [holder, waiter] = [claimOf("a", LONG), claimOf("a", LONG)];
      await grant(store, holder);
      await ask(store, waiter);
      const began = performance.now();
      assert(await store.release({ ...holder, lease }), "released");
      assertExpiry(await client.pttl("lock:a"), kept, began);
      await grant(store, waiter);
      await store.release(waiter);
    }
  },
);

testOnServer("release() passes over a waiter whose client is gone, at once", async ({ server, client, store }) => {
  const gone = server.connect();
  const other = serverStore(gone);
  await subscribed(client, gone);
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

testOnServer(
  "renew() with a shorter lease wakes the first waiter whose client is there",
  async ({ server, client }) => {
    const gone = server.connect();
    const [store, other] = [serverStore(client), serverStore(gone)];
    await subscribed(client, gone);
    const [holder, dead, alive] = [claimOf("a", LONG), claimOf("a", LONG), claimOf("a", LONG)];
    await grant(store, holder);
    await ask(other, dead);
    await ask(store, alive);
    gone.disconnect();
    await until(async () => await subscribers(client) === 1, "the server has noticed");
    const over = new AbortController();
    let woken = false;
    const waiting = store.wakeup?.(alive, over.signal).then(() => woken = true);
    assertEquals(await store.renew({ ...holder, lease: 1_000, renewal: 1 }), "renewed");
    await until(() => woken, "it is woken");
    over.abort();
    await waiting;
  },
);

testOnServer("the scripts use no key but those that they are given", async ({ server, client }) => {
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
  await until(() => commands.at(-1)?.args[1] === "the end", "the monitor has shown all");

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
  assertEquals(all.filter(({ sha }) => !ran.has(sha)), [], "every script ran");
  assert(called > 30, `${called} commands`);
});

Deno.test("attempt() runs on a server in cluster mode, for names of every kind", async () => {
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
  const store = serverStore(client);
  const [holder, first, second, third] = [
    claimOf(name, LONG),
    claimOf(name, 50),
    claimOf(name, LONG),
    claimOf(name, LONG),
  ];
  await grant(store, holder);
  assertEquals(await store.renew(holder), "renewed");
  for (const renewal of [1, 2]) {
    assertEquals(await store.renew({ ...holder, lease: renewal === 1 ? 4_000 : LONG, renewal }), "renewed");
  }
  assert(!(await store.attempt(first, { enqueue: false })).granted, "busy");
  for (const waiter of [first, second, third, first]) await ask(store, waiter);
  assert(await store.release(third), "it leaves the queue");
  assert(await store.release(holder), "and the first is served");
  await grant(store, first);
  // It was reserved for longer than its lease.
  assertEquals(await store.renew({ ...first, renewal: 1 }), "renewed");
  // The lease of the first ends: the next attempt serves the second, whichever handle makes it.
  await until(async () => await client.exists(`lock:${name}`) === 0, "the lease has ended");
  assertEquals(await store.renew(first), "lost");
  await ask(store, holder);
  await grant(store, second);
  assert(await store.release(second), "the holder waits again and is served");
  await grant(store, holder);
  assert(await store.release(holder) && !await store.release(holder), "released once");
  const [head, member] = [0, 1].map(() => ({ ...claimOf(name, LONG), group: "one-process" }));
  await grant(store, holder);
  for (const waiter of [head!, member!]) await ask(store, waiter);
  assert(await store.release(holder), "the head of a run is served");
  const granted = await store.attempt(head!, { enqueue: true });
  assertEquals(granted.granted && granted.run, [member!.owner]);
  assertEquals(await store.renew(head!), "renewed");
  assert(await store.release(head!), "and its run ends");
  const [lock, other] = [await acquire(store, name), acquire(store, name)];
  await lock.release();
  await (await other).release();
  for (const enqueue of [true, false]) {
    const vote = await store.vote(holder, { enqueue, guess: 1n, maxClockSkew: 0 });
    assert(vote.granted && !vote.raised && vote.counter > 1n, "an old guess raises nothing");
    assert(!(await store.vote(first, { enqueue, guess: 1n, maxClockSkew: 0 })).granted, "busy");
    assert(await store.confirm(holder, vote.counter + 1n), "a higher fence is confirmed");
    assert(!await store.confirm(holder, vote.counter + 1n), "and only once");
    assertEquals((await store.inspect(first)).state, "taken");
    assert(!await store.retake(first, vote.counter + 1n), "it is held");
    await store.release(first);
    await store.release(holder);
    assert(!await store.retake(holder, vote.counter), "the counter is another");
    assert(await store.retake(holder, vote.counter + 1n) && await store.release(holder), "it is taken back");
  }
}

/** The same of locks that several may hold, with owners that come again, thieves and operators. */
async function liveTogether(client: Redis, name: string): Promise<void> {
  const store = serverStore(client);
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
    await store.revocation!(one, new AbortController().signal);
    const { pending, held } = await store.query!();
    for (const entry of [...pending, ...held]) assertEquals(entry.name, name);
    await client.del(...lockKeys(`lock:${name}`));
  }
}

function claimOf(name: string, lease: number): Claim {
  return kindOf(name, "exclusive", lease);
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
