import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, type Claim, LockLostError } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import type { Redis } from "ioredis";
import { getEventListeners } from "node:events";
import { until } from "../../faults/until.ts";
import { RedisServer } from "../../redis_server.ts";
import { ask, claimOf, grant, LONG } from "./claims.ts";

/** How long news may take under load, in milliseconds: much less than until the next renewal. */
const PROMPT = 3_000;

const present: Record<string, () => Claim[]> = {
  "an exclusive holder": () => [claimOf("a")],
  "the holds of an owner": () => [claimOf("a", "exclusive", LONG, "me"), claimOf("a", "exclusive", LONG, "me")],
  "shared holders": () => [claimOf("a", "shared"), claimOf("a", "shared"), claimOf("a", "shared", LONG, "me")],
  "holders of permits": () => [claimOf("a", 2), claimOf("a", 2, LONG, "me"), claimOf("a", 2, LONG, "me")],
  "a stranger": () => [],
  "nobody": () => [],
};

for (const [whom, claimsOf] of Object.entries(present)) {
  Deno.test(`attempt() steals from ${whom}, ahead of the queue`, async () => {
    await using server = await RedisServer.start();
    const [client, messages] = await listening(server);
    const store = redis(client);
    for (const thief of [claimOf("a"), claimOf("a", "exclusive", LONG, "thief")]) {
      const claims = claimsOf();
      if (whom === "a stranger") await client.set("lock:a", "stranger", "PX", LONG);
      let last = 0n;
      for (const claim of claims) last = await grant(store, claim);
      const waiter = claimOf("a", claims[0]?.permits ?? "exclusive");
      if (whom !== "nobody") await ask(store, waiter);
      messages.length = 0;
      assert(await grant(store, thief, { steal: true }) > last, "the fence is higher");
      assertEquals(await client.get("lock:a"), thief.hold === undefined ? thief.owner : `${thief.owner}/`);
      const expected = whom === "a stranger" ? ["stranger"] : claims.map(idOf);
      await until(() => Promise.resolve(messages.length >= expected.length), "they are told");
      assertEquals([...messages].sort(), expected.sort());
      for (const claim of claims) {
        assertEquals(await store.renew(claim), "lost");
        assert(!await store.release(claim), "not its own any more");
      }
      // Asked again, as when the answer was lost.
      await grant(store, thief, { steal: true });
      assertEquals(await store.renew(thief), "renewed");
      if (whom !== "nobody") await ask(store, waiter);
      assert(await store.release(thief), "released");
      if (whom !== "nobody") await grant(store, waiter);
      await store.release(waiter);
      assertEquals(await server.leftovers(), []);
    }
  });

  Deno.test(`evict() takes the lock from ${whom}, and serves the queue`, async () => {
    await using server = await RedisServer.start();
    const [client, messages] = await listening(server);
    const store = redis(client);
    const claims = claimsOf();
    if (whom === "a stranger") await client.set("lock:a", "stranger", "PX", LONG);
    for (const claim of claims) await grant(store, claim);
    const waiter = claimOf("a", claims[0]?.permits ?? "exclusive");
    if (whom !== "nobody") await ask(store, waiter);
    const expected = whom === "a stranger" ? ["stranger"] : claims.map(idOf);
    assertEquals(await store.evict!("a"), expected.length);
    await until(() => Promise.resolve(messages.length >= expected.length), "they are told");
    assertEquals([...messages].sort(), expected.sort());
    for (const claim of claims) assertEquals(await store.renew(claim), "lost");
    if (whom !== "nobody") {
      assertEquals((await store.query!()).pending, [], "it is served");
      // It is kept for the head of the queue.
      if (waiter.permits === undefined) await ask(store, claimOf("a"), false);
      await grant(store, waiter);
      await store.release(waiter);
    }
    assertEquals(await store.evict!("a"), 0);
    assertEquals(await server.leftovers(), []);
  });
}

Deno.test("evict() counts no holds that have ended", async () => {
  await using server = await RedisServer.start();
  const store = redis(server.connect());
  for (const claim of [claimOf("a", "shared"), claimOf("a", "shared", 100), claimOf("a", "shared")]) {
    await grant(store, claim);
  }
  await until(async () => (await store.query!()).held.length === 2, "one has ended");
  assertEquals(await store.evict!("a"), 2);
});

Deno.test("attempt() of an owner that holds the lock steals nothing from itself", async () => {
  await using server = await RedisServer.start();
  const [client, messages] = await listening(server);
  const store = redis(client);
  const [first, second] = [claimOf("a", "exclusive", LONG, "me"), claimOf("a", "exclusive", LONG, "me")];
  const fence = await grant(store, first);
  assertEquals(await grant(store, second, { steal: true }), fence);
  for (const claim of [first, second]) assert(await store.release(claim), "released");
  assertEquals(messages, []);
});

Deno.test("Lock.signal aborts soon after a steal or evict(), also for shared holders and other clients", async () => {
  await using server = await RedisServer.start();
  const store = redis(server.connect());
  for (const deed of ["steal", "evict"]) {
    for (const options of [{}, { mode: "shared" }, { permits: 3 }, { owner: "me" }] as const) {
      const settings = { ...options, lease: LONG, renew: false };
      const clients = "mode" in options || "permits" in options ? [1, 2] : [1];
      const locks = await Promise.all(clients.map(() => acquire(server.connect(), "a", settings)));
      const signals = locks.map(({ signal }) => signal);
      const started = performance.now();
      const thief = deed === "steal" ? await acquire(store, "a", { steal: true }) : undefined;
      if (deed === "evict") assertEquals(await store.evict!("a"), clients.length);
      await until(() => Promise.resolve(signals.every(({ aborted }) => aborted)), "they hear of it");
      assert(performance.now() - started < PROMPT, "soon");
      for (const [i, lock] of locks.entries()) {
        assert(signals[i]!.reason instanceof LockLostError, "why");
        assert(!lock.held, "not held");
        await assertRejects(() => lock.release(), LockLostError);
      }
      if (thief !== undefined) assert(locks.every(({ fence }) => fence < thief.fence), "the fence is higher");
      await thief?.release();
    }
  }
  assertEquals(await server.leftovers(), []);
});

Deno.test("eviction() resolves at once when the hold was taken away before anybody listened", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  for (const round of ["not subscribed", "subscribed"]) {
    for (const claim of [claimOf("a"), claimOf("a", "shared"), claimOf("a", "exclusive", LONG, "me")]) {
      await grant(store, claim);
      await store.evict!("a");
      await within(store.eviction!(claim, new AbortController().signal), round);
    }
  }
});

Deno.test("eviction() resolves on the message", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  const [holder, waiter] = [claimOf("other"), claimOf("other")];
  await grant(store, holder);
  await ask(store, waiter);
  for (const claim of [claimOf("a"), claimOf("a", "shared"), claimOf("a", "exclusive", LONG, "me")]) {
    await grant(store, claim);
    const evicted = store.eviction!(claim, new AbortController().signal);
    // It listens already, and what it has asked is answered before this: that it is held.
    assertEquals(await store.renew(claim), "renewed");
    await store.evict!("a");
    await within(evicted, "told");
  }
});

Deno.test("eviction() does not resolve while the hold is held, and on the signal leaves no listener", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  for (const claim of [claimOf("a"), claimOf("a", "shared", LONG, "me"), claimOf("a", 2)]) {
    await grant(store, claim);
    const { signal, controller } = controlled();
    let resolved = false;
    const evicted = store.eviction!(claim, signal).then(() => resolved = true);
    await until(async () => await subscribers(client) === 1, "it listens");
    // Others are none of its concern; nor are those whose names are like its own.
    for (const other of ["stranger", claim.owner, idOf(claim) + "x", ""]) {
      if (other !== idOf(claim)) await client.publish("holdfast:evicted", other);
    }
    await store.renew(claim);
    assert(!resolved, "it is held");
    controller.abort();
    await within(evicted, "aborted");
    assertEquals(getEventListeners(signal, "abort").length, 0);
    await within(store.eviction!(claim, signal), "aborted before");
    assertEquals(getEventListeners(signal, "abort").length, 0);
    assert(await store.release(claim), "released");
  }
});

Deno.test("eviction() resolves although the message came while the connection for it was cut", async () => {
  await using server = await RedisServer.start();
  const [client, other] = [server.connect(), server.connect()];
  const [store, elsewhere] = [redis(client), redis(other)];
  for (let round = 0; round < 3; round++) {
    const [lost, kept] = [claimOf("a"), claimOf("b")];
    for (const claim of [lost, kept]) await grant(store, claim);
    const { signal, controller } = controlled();
    let resolved = false;
    const evicted = store.eviction!(lost, signal);
    const never = store.eviction!(kept, signal).then(() => resolved = true);
    await until(async () => await subscribers(other) === 1, "it listens");
    // Both arrive before the client can have connected anew.
    await Promise.all([other.call("CLIENT", "KILL", "TYPE", "pubsub"), elsewhere.evict!("a")]);
    await within(evicted, "it asks when it listens again");
    assert(!resolved, "the other is held");
    controller.abort();
    await never;
    await store.release(kept);
  }
});

Deno.test("eviction() hears of it next to waiters of the same client", async () => {
  await using server = await RedisServer.start();
  const [client, other] = [server.connect(), server.connect()];
  const holder = await acquire(client, "a", { lease: LONG, renew: false });
  const waiting = acquire(client, "a", { wait: 20_000 });
  await until(async () => await client.zcard("{lock:a}:queue") === 1, "it is queued");
  const { signal } = holder;
  const thief = await acquire(other, "a", { steal: true });
  await until(() => Promise.resolve(signal.aborted), "the holder hears of it");
  await thief.release();
  await (await waiting).release();
  await assertRejects(() => holder.release(), LockLostError);
  assertEquals(await subscribers(other), 1);
  assertEquals(await server.leftovers(), []);
});

Deno.test("eviction() that may not listen waits for its signal, and the lease goes on", async () => {
  await using server = await RedisServer.start();
  const admin = server.connect();
  await admin.call("ACL", "SETUSER", "deaf", "on", ">secret", "~*", "+@all", "resetchannels");
  const client = server.connect({ username: "deaf", password: "secret" });
  const lock = await acquire(client, "a", { lease: LONG });
  assert(!lock.signal.aborted, "held");
  await lock.extend();
  assert(lock.held && !lock.signal.aborted, "held");
  await lock.release();
  assertEquals(await server.leftovers(), []);
});

/** The id under which a handle holds a lock. */
function idOf({ owner, hold }: Claim): string {
  return hold ?? owner;
}

function controlled(): { signal: AbortSignal; controller: AbortController } {
  const controller = new AbortController();
  return { signal: controller.signal, controller };
}

async function within(promise: Promise<unknown>, what: string): Promise<void> {
  let done = false;
  promise.then(() => done = true);
  await until(() => Promise.resolve(done), what);
}

async function subscribers(client: Redis): Promise<number> {
  const [, number] = await client.call("PUBSUB", "NUMSUB", "holdfast:evicted") as [string, number];
  return Number(number);
}

/** A client, and what is told over the channel of all clients from here on. */
async function listening(server: RedisServer): Promise<[Redis, string[]]> {
  const [client, watcher] = [server.connect(), server.connect()];
  const messages: string[] = [];
  watcher.on("message", (_channel: string, message: string) => messages.push(message));
  await watcher.subscribe("holdfast:evicted");
  return [client, messages];
}
