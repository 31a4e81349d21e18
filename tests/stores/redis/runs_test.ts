// Deno only: it tries a client that is cut off, of which the runtime knows nothing.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { type Claim, type Store, StoreError } from "@holdfast/lock";
import type { IoredisClient } from "@holdfast/lock/redis";
import { EventEmitter } from "node:events";
import type { Redis } from "ioredis";
import { SystemClock } from "../../../src/time/clock.ts";
import { HandoffStore } from "../../../src/handoff/handoff_store.ts";
import { attempt } from "../../../src/stores/redis/commands/attempt.ts";
import { MAX_RUN } from "../../../src/stores/redis/constants.ts";
import { lockKeys } from "../../../src/stores/redis/keys/keys.ts";
import { Wakeups } from "../../../src/stores/redis/wakeups/wakeups.ts";
import type { Granted } from "../../../src/contract/store.ts";
import { ask, claimOf, grant, LONG } from "../../support/claims.ts";
import { tested } from "./tested.ts";
import { RedisServer } from "../../support/redis_server.ts";
import { until } from "../../support/until.ts";
import { after, START } from "./after.ts";
import { counterAt } from "./counter.ts";
import { subscribed } from "./wakeups/subscribed.ts";
import { serverStore } from "../../support/server_store.ts";
import { type OnServer, testClean, testOnServer } from "./on_server.ts";

const [LOCK, QUEUE, WAITERS, , , FENCE] = lockKeys("lock:a");

/** The fence that the clock gives where a test says what the clock shows. */
const FIRST = BigInt(START) * 1_000n;

const GROUP = crypto.randomUUID();

test("attempt() takes the waiters of its group that come next, in their order", async ({ server, client, store }) => {
  const [head, ...members] = [member(), member(), member(), member()] as [Claim, ...Claim[]];
  await line(store, [head, ...members]);
  assertEquals(await client.get(LOCK), head.owner, "its wake-up is received");
  const { fence, fences = 1, run, contended } = await attemptOf(store, head);
  assertEquals([run, fences, contended], [owners(members), 1, false]);
  assertEquals(await counterAt(client, FENCE), `${fence + 3n}`);
  assertEquals(await client.get(LOCK), head.owner, "all under the handle of the first");
  assertEquals(await client.exists(QUEUE, WAITERS), 0);
  assert(await store.release(head), "released");
  assertEquals(await server.leftovers(), []);
  assert(await grant(store, claimOf("a")) > fence + 3n, "later fences are larger");
});

test("attempt() of a waiter that finds the lock expired takes its run as well", async ({ client, store }) => {
  const [holder, head, next, rival] = [claimOf("a"), member(), member(), claimOf("a")];
  await grant(store, holder);
  for (const claim of [head, next, rival]) await ask(store, claim);
  await client.del(LOCK);
  const { run, contended } = await attemptOf(store, head);
  assertEquals([run, contended], [[next.owner], true]);
  assertEquals(await queue(client), [rival.owner]);
});

testClean("attempt() ends a run at the first waiter of another kind or cohort", async ({ client, store }) => {
  await subscribed(client);
  const others: Record<string, Claim> = {
    "without a cohort": claimOf("a"),
    "of another cohort": { ...claimOf("a"), group: crypto.randomUUID() },
    "shared": claimOf("a", "shared"),
    "of a named owner": claimOf("a", "exclusive", LONG, "me"),
  };
  for (const [what, other] of Object.entries(others)) {
    const [head, second, fourth] = [member(), member(), member()];
    await line(store, [head, second, other, fourth]);
    const { fence, run, contended } = await attemptOf(store, head);
    assertEquals([run, contended], [[second.owner], true], what);
    assertEquals(await queue(client), [other.handle ?? other.owner, fourth.owner], what);
    assertEquals(await counterAt(client, FENCE), `${fence + 1n}`);
    for (const claim of [head, other, fourth]) await store.release(claim);
  }
});

test("attempt() takes nobody along for a waiter without group, or that only tries", async ({ client, store }) => {
  for (
    const [head, enqueue] of [[claimOf("a"), true], [member(), false], [{ ...member(), fences: 3 }, true]] as const
  ) {
    const next = member();
    await line(store, [head, next]);
    const reply = await store.attempt(head, { enqueue });
    assertEquals(reply.granted && (reply.run ?? []), []);
    assertEquals(await queue(client), [next.owner]);
    for (const claim of [head, next]) await store.release(claim);
  }
});

testClean("attempt() takes MAX_RUN waiters at most, and says whether more are left", async ({ client, store }) => {
  await subscribed(client);
  for (const more of [0, 2]) {
    const [head, ...members] = Array.from({ length: 1 + MAX_RUN + more }, member) as [Claim, ...Claim[]];
    await line(store, [head, ...members]);
    const { run, contended } = await attemptOf(store, head);
    assertEquals(run, owners(members.slice(0, MAX_RUN)));
    assertEquals([await queue(client), contended], [owners(members.slice(MAX_RUN)), more > 0]);
    for (const claim of [head, ...members.slice(MAX_RUN)]) assert(await store.release(claim));
  }
});

test("attempt() ends a run at a dead waiter, and at an entry that is no member", async ({ client, store }) => {
  const now = async () => Number((await client.time())[0]) * 1_000;
  const entries = [
    [async () => `${await now() - 15_001}?holdfast:x@${GROUP}\0`, "last"],
    // No client writes that.
    [async () => `${await now()}?holdfast:x@${GROUP}:shared\0`, ":shared"],
    [async () => `${await now()}?holdfast:x@\0`, "other"],
    [async () => `${await now()}?holdfast:x@:shared\0`, ":shared"],
  ] as const;
  for (const [entry, served] of entries) {
    const [head, other, last] = [member(), member(), member()];
    await line(store, [head, other, last]);
    const written = await entry();
    await client.hset(WAITERS, other.owner, written);
    const { run = [], contended } = await attemptOf(store, head);
    assertEquals([run, contended], [[], true], written);
    assertEquals(await queue(client), [other.owner, last.owner]);
    await store.release(head);
    const values = { last: last.owner, other: other.owner, ":shared": ":shared" };
    assertEquals(await client.get(LOCK), values[served], written);
    for (const claim of [other, last]) await store.release(claim);
    await client.flushall();
  }
});

testOnServer("attempt() shortens a run whose fences would be too far ahead of the clock", async ({ client }) => {
  const address = `?holdfast:${crypto.randomUUID()}`;
  const cases = [[9_996n, 3], [9_997n, 2], [9_998n, 1], [9_999n, 0], [2n ** 53n - 2n - FIRST, 0]] as const;
  for (const [last, length] of cases) {
    const [holder, head, ...members] = [claimOf("a"), member(), member(), member(), member()];
    await after(0, client, attempt, { claim: holder });
    for (const claim of [head, ...members]) {
      await after(0, client, attempt, { claim, waiter: { address, ticket: "", group: GROUP } });
    }
    await client.del(LOCK);
    await client.set(FENCE, `${FIRST + last}`);
    const reply = await after(0, client, attempt, { claim: head, waiter: { address, ticket: "", group: GROUP } });
    const run = owners(members.slice(0, length));
    const fence = FIRST + last + 1n;
    assertEquals(reply, { granted: true, fence, fences: 1, contended: length < 3, run });
    assertEquals(await counterAt(client, FENCE), `${fence + BigInt(length)}`);
    assertEquals(await queue(client), owners(members.slice(length)));
    assertEquals(await client.hlen(WAITERS), 3 - length);
    await client.flushall();
  }
});

test("attempt() of a member puts it back to its place, ahead of who came later", async ({ client, store }) => {
  const [head, first, second, rival] = [member(), member(), member(), claimOf("a")];
  await line(store, [head, first, second]);
  assertEquals((await attemptOf(store, head)).run, owners([first, second]));
  for (const claim of [rival, second, first]) await ask(store, claim);
  assertEquals(await queue(client), owners([first, second, rival]));
  assertEquals((await store.query!()).pending.map(({ owner }) => owner), owners([first, second, rival]));
  await store.release(head);
  const next = await attemptOf(store, first);
  assertEquals([next.run, next.contended], [[second.owner], true]);
});

test("forget() drops the place of a member that was handed the lock", async ({ client, store }) => {
  const [head, gone, rival] = [member(), member(), claimOf("a")];
  await line(store, [head, gone]);
  assertEquals((await attemptOf(store, head)).run, [gone.owner]);
  store.forget?.(gone);
  for (const claim of [rival, gone]) await ask(store, claim);
  assertEquals(await queue(client), owners([rival, gone]));
});

test("attempt() that is executed twice, and late, loses no member for ever", async ({ client, store }) => {
  const [head, first, second, rival] = [member(), member(), member(), claimOf("a")];
  await line(store, [head, first]);
  const sent = attempt.encode(lockKeys("lock:a"), {
    claim: head,
    waiter: { address: "!holdfast:x", ticket: "1", group: GROUP },
  });
  const execute = () => client.eval(attempt.script.source, sent.keys.length, ...sent.keys, ...sent.args);
  const [, fence, , , ...run] = await execute() as string[];
  assertEquals(run, [first.owner]);
  for (const claim of [second, rival]) await ask(store, claim);
  const [, later, , , ...others] = await execute() as string[];
  assertEquals(others, [second.owner], "a repetition takes those that have come since");
  assert(BigInt(later!) > BigInt(fence!) + 1n, "beyond the fences of the first run");
  for (const claim of [second, first]) await ask(store, claim);
  assertEquals(await queue(client), owners([first, second, rival]));
  await store.release(head);
  // The lock is over for that handle: executed once more, it takes nobody along.
  const [busy] = await execute() as [number];
  assert(busy > 0, "busy");
  await store.release(head);
  assertEquals((await attemptOf(store, first)).run, [second.owner]);
});

test("attempt() that is executed twice hands on no fence below its last one", async ({ store }) => {
  const runs = new HandoffStore(store, new SystemClock());
  const [other, head, second] = [claimOf("a"), claimOf("a"), claimOf("a")];
  await grant(store, other);
  for (const claim of [head, second]) await ask(runs, claim);
  await store.release(other);
  // As after an attempt that was not answered in time.
  const [, last] = await Promise.all([attemptOf(runs, head), attemptOf(runs, head)]);
  await runs.release(head);
  assert((await attemptOf(runs, second)).fence > last.fence, "it rises");
  await runs.release(second);
});

Deno.test("attempt() that the server refuses holds nothing new, and takes nobody along", async () => {
  await using server = await RedisServer.start(["--maxmemory-policy", "noeviction"]);
  const client = server.connect();
  await subscribed(client);
  const store = serverStore(client);
  const settings = [["maxmemory", 1, "OOM"], ["min-replicas-to-write", 1, "NOREPLICAS"]] as const;
  for (const [setting, value, words] of settings) {
    const [head, next] = [member(), member()];
    await line(store, [head, next]);
    await client.config("SET", setting, value);
    await assertRejects(() => store.attempt(head, { enqueue: true }), StoreError, words);
    await client.config("SET", setting, 0);
    assertEquals([await queue(client), await client.hlen(WAITERS)], [[next.owner], 1], words);
    assert(await client.pttl(LOCK) <= 1_500, "no more than its reservation");
    assertEquals((await attemptOf(store, head)).run, [next.owner], "when it works again");
    await store.release(head);
  }
  const [head, next] = [member(), member()];
  await line(store, [head, next]);
  await client.del(FENCE);
  await client.hset(FENCE, "mine", 1);
  await assertRejects(() => store.attempt(head, { enqueue: true }), StoreError, "WRONGTYPE");
  assertEquals(await client.exists(LOCK), 0);
  assertEquals([await queue(client), await client.hlen(WAITERS)], [[next.owner], 1]);
});

test("attempt() grants a reserved lock although the queue's keys are of other types", async ({ client, store }) => {
  for (const key of [QUEUE, WAITERS]) {
    const [head, next] = [member(), member()];
    await line(store, [head, next]);
    await client.set(key, "mine");
    assertEquals((await attemptOf(store, head)).run ?? [], []);
    assertEquals(await client.get(key), "mine");
    await client.flushall();
  }
});

testOnServer("attempt() that too few replicas have wakes the members of its run", async ({ client }) => {
  const store = serverStore(deaf(client).client, { replicas: { min: 1, timeout: 10 } });
  const [holder, head, next] = [claimOf("a"), member(), member()];
  const plain = serverStore(client);
  await grant(plain, holder);
  for (const claim of [head, next]) await ask(store, claim);
  await plain.release(holder);
  const woken = seen(store.wakeup!(next, new AbortController().signal));
  await assertRejects(() => store.attempt(head, { enqueue: true }), StoreError, "fewer than 1 replicas");
  await until(woken, "the member is woken");
  assertEquals(await client.exists(LOCK, QUEUE), 0);
});

testOnServer("attempt() wakes all waiters if its client is cut off, which may lose a run", async ({ client }) => {
  const { client: cut, events } = deaf(client);
  const store = serverStore(cut);
  const [holder, head, lost, other] = [claimOf("a"), member(), member(), member()];
  await grant(store, holder);
  for (const claim of [head, lost]) await ask(store, claim);
  await store.release(holder);
  const woken = seen(store.wakeup!(lost, new AbortController().signal));
  const { evalsha } = cut;
  // The first reply is lost with the connection, and the client sends the attempt again.
  cut.evalsha = async (...args: Parameters<typeof evalsha>) => {
    await evalsha(...args);
    events.emit("close");
    return await evalsha(...args);
  };
  assertEquals((await attemptOf(store, head)).run ?? [], []);
  cut.evalsha = evalsha;
  await until(woken, "the member is woken");
  for (const claim of [other, lost]) await ask(store, claim);
  assertEquals(await queue(client), owners([lost, other]));
});

testOnServer("wakeIfCut() wakes the waiters once for each cut, also after an error", async ({ server }) => {
  const { client, events } = deaf(server.connect());
  const wakeups = Wakeups.of(tested(client));
  const { signal } = new AbortController();
  const wait = () => seen(wakeups.waiters.wait("a", LONG, signal));
  wakeups.waiter("a");
  wakeups.waiters.enqueue("a", "1");
  for (let cut = 1; cut <= 2; cut++) {
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    for (const { promise } of [first, second]) wakeups.wakeIfCut(promise);
    let woken = wait();
    events.emit("close");
    first.reject(new Error("cut off"));
    await until(woken, "it is woken");
    woken = wait();
    second.resolve();
    wakeups.wakeIfCut(Promise.resolve());
    await second.promise;
    await server.command("PING");
    assert(!woken(), "another attempt was cut off with the first, or none at all");
    wakeups.waiters.wake("a");
    await until(woken, "it can be woken");
  }
});

/** Tells whether a promise has resolved. */
function seen(promise: Promise<void>): () => boolean {
  let resolved = false;
  promise.then(() => resolved = true);
  return () => resolved;
}

/** A claim that may be a member of a run. */
function member(): Claim {
  return { ...claimOf("a"), group: GROUP };
}

function owners(claims: readonly Claim[]): string[] {
  return claims.map(({ owner }) => owner);
}

/** Defines a test on a server of its own, whose client receives its wake-ups. */
function test(name: string, run: (on: OnServer) => Promise<void>): void {
  testOnServer(name, async (on) => {
    await subscribed(on.client);
    await run(on);
  });
}

/** Has these claims wait in a line, and reserves the lock for the first. */
async function line(store: Store, claims: readonly Claim[]): Promise<void> {
  const holder = claimOf("a");
  await grant(store, holder);
  for (const claim of claims) await ask(store, claim);
  assert(await store.release(holder), "released");
}

async function attemptOf(store: Store, claim: Claim): Promise<Granted> {
  const reply = await store.attempt(claim, { enqueue: true });
  assert(reply.granted, "granted");
  return reply;
}

async function queue(client: Redis): Promise<string[]> {
  return await client.zrange(QUEUE, 0, "-1");
}

/** A client that is never subscribed to wake-ups, and what emits its events. */
function deaf(client: Redis): { client: IoredisClient; events: EventEmitter } {
  const events = new EventEmitter();
  const silent = Object.assign(new EventEmitter(), {
    subscribe: () => new Promise(() => {}),
    disconnect: () => {},
  });
  const bare = {
    evalsha: client.evalsha.bind(client),
    eval: client.eval.bind(client),
    pipeline: client.pipeline.bind(client),
    duplicate: () => silent,
    on: events.on.bind(events),
  };
  return { client: bare as unknown as IoredisClient, events };
}
