import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, type Claim, LockLostError } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import type { Redis } from "ioredis";
import { getEventListeners } from "node:events";
import { lockKeys } from "../../../src/stores/redis/keys/keys.ts";
import * as scripts from "../../../src/stores/redis/scripts/generated.ts";
import { inTime } from "../../support/in_time.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { Wakeups } from "../../../src/stores/redis/wakeups/wakeups.ts";
import { tested, testOfMessages } from "./tested.ts";
import { subscribed } from "./wakeups/subscribed.ts";
import { RedisServer } from "../../support/redis_server.ts";
import { ask, claimOf, grant, LONG } from "../../support/claims.ts";
import { reservingForLong } from "./long_reservations.ts";
import { testClean, testOnServer } from "./on_server.ts";

const present: Record<string, () => Claim[]> = {
  "an exclusive holder": () => [claimOf("a")],
  "the holds of an owner": () => [claimOf("a", "exclusive", LONG, "me"), claimOf("a", "exclusive", LONG, "me")],
  "shared holders": () => [claimOf("a", "shared"), claimOf("a", "shared"), claimOf("a", "shared", LONG, "me")],
  "holders of permits": () => [claimOf("a", 2), claimOf("a", 2, LONG, "me"), claimOf("a", 2, LONG, "me")],
  "a rival": () => [],
  "nobody": () => [],
};

for (const [whom, claimsOf] of Object.entries(present)) {
  Deno.test(`attempt() steals from ${whom}, ahead of the queue`, async () => {
    await using server = await RedisServer.start();
    const [client, messages] = await evictedHandles(server);
    const store = redis(tested(client));
    for (const thief of [claimOf("a"), claimOf("a", "exclusive", LONG, "thief")]) {
      const claims = claimsOf();
      if (whom === "a rival") await client.set("lock:a", "rival", "PX", LONG);
      let last = 0n;
      for (const claim of claims) last = await grant(store, claim);
      const waiter = claimOf("a", claims[0]?.permits ?? "exclusive");
      if (whom !== "nobody") await ask(store, waiter);
      messages.length = 0;
      assert(await grant(store, thief, { steal: true }) > last, "the fence is higher");
      assertEquals(await client.get("lock:a"), thief.handle === undefined ? thief.owner : `${thief.owner}/`);
      const expected = whom === "a rival" ? ["rival"] : claims.map(idOf);
      await until(() => messages.length >= expected.length, "they are notified");
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
    const [client, messages] = await evictedHandles(server);
    const store = redis(tested(reservingForLong(client)));
    const claims = claimsOf();
    if (whom === "a rival") await client.set("lock:a", "rival", "PX", LONG);
    for (const claim of claims) await grant(store, claim);
    const waiter = claimOf("a", claims[0]?.permits ?? "exclusive");
    if (whom !== "nobody") await ask(store, waiter);
    const expected = whom === "a rival" ? ["rival"] : claims.map(idOf);
    assertEquals(await store.evict!("a", { meta: false }), expected.length);
    await until(() => messages.length >= expected.length, "they are notified");
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

testClean("evict() of a lock whose key has gone serves the queue", async ({ client }) => {
  const store = redis(tested(reservingForLong(client)));
  const [holder, waiter] = [claimOf("a"), claimOf("a")];
  await grant(store, holder);
  await ask(store, waiter);
  await client.del("lock:a");
  assertEquals(await store.evict("a"), 0);
  assertEquals(await client.get("lock:a"), waiter.owner);
  assert(await store.release(waiter), "it was reserved");
});

testOnServer("evict() counts no holders whose lease has ended", async ({ server }) => {
  const store = redis(tested(server.connect()));
  for (const claim of [claimOf("a", "shared"), claimOf("a", "shared", 100), claimOf("a", "shared")]) {
    await grant(store, claim);
  }
  await until(async () => (await store.query!()).held.length === 2, "one has ended");
  assertEquals(await store.evict!("a"), 2);
});

testOnServer("attempt() of an owner that holds the lock steals nothing from itself", async ({ server }) => {
  const [client, messages] = await evictedHandles(server);
  const store = redis(tested(client));
  const [first, second] = [claimOf("a", "exclusive", LONG, "me"), claimOf("a", "exclusive", LONG, "me")];
  const fence = await grant(store, first);
  assertEquals(await grant(store, second, { steal: true }), fence);
  for (const claim of [first, second]) assert(await store.release(claim), "released");
  assertEquals(messages, []);
});

testClean("Lock.signal aborts soon after a steal or evict(), for every kind of holder", async ({ server }) => {
  const store = redis(tested(server.connect()));
  for (const action of ["steal", "evict"]) {
    for (const options of [{}, { mode: "shared" }, { permits: 3 }, { owner: "me" }] as const) {
      const settings = { ...options, lease: LONG, renew: false };
      const clients = "mode" in options || "permits" in options ? [1, 2] : [1];
      const locks = await Promise.all(clients.map(() => acquire(tested(server.connect()), "a", settings)));
      const signals = locks.map(({ signal }) => signal);
      const thief = action === "steal" ? await acquire(store, "a", { steal: true }) : undefined;
      if (action === "evict") assertEquals(await store.evict!("a"), clients.length);
      await until(() => signals.every(({ aborted }) => aborted), "they are notified");
      for (const [i, lock] of locks.entries()) {
        assert(signals[i]!.reason instanceof LockLostError, "why");
        assert(!lock.held, "not held");
        await assertRejects(() => lock.release(), LockLostError);
      }
      if (thief !== undefined) assert(locks.every(({ fence }) => fence < thief.fence), "the fence is higher");
      await thief?.release();
    }
  }
});

testOnServer("revocation() resolves at once when the lock was taken away before", async ({ client }) => {
  const store = redis(tested(client));
  for (const round of ["not subscribed", "subscribed"]) {
    for (const claim of [claimOf("a"), claimOf("a", "shared"), claimOf("a", "exclusive", LONG, "me")]) {
      await grant(store, claim);
      await store.evict!("a");
      await within(store.revocation!(claim, new AbortController().signal), round);
    }
  }
});

testOnServer("revocation() resolves on the message", async ({ client }) => {
  const store = redis(tested(client));
  const [holder, waiter] = [claimOf("other"), claimOf("other")];
  await grant(store, holder);
  await ask(store, waiter);
  for (const claim of [claimOf("a"), claimOf("a", "shared"), claimOf("a", "exclusive", LONG, "me")]) {
    await grant(store, claim);
    const evicted = store.revocation!(claim, new AbortController().signal);
    // It is subscribed already, and its question is answered before this one: the lock is held.
    assertEquals(await store.renew(claim), "renewed");
    await store.evict!("a");
    await within(evicted, "notified");
  }
});

testOnServer("revocation() resolves to what describes the one that has revoked the lock", async ({ server }) => {
  const [rival, watcher] = [server.connect(), server.connect()];
  const [store, elsewhere] = [redis(tested(server.connect())), redis(tested(rival))];
  const thief = { ...claimOf("a"), meta: JSON.stringify({ job: "thief" }) };
  for (const claim of [claimOf("a"), claimOf("a", "shared"), claimOf("a", "exclusive", LONG, "me\n{")]) {
    for (const action of ["evict", "steal", "evict without meta"]) {
      await grant(store, claim);
      const before = await scriptCalls(watcher);
      const revoked = store.revocation!(claim, new AbortController().signal);
      await until(async () => await subscribers(watcher) === 1, "it is subscribed");
      // That the lock is gone may also be known from this, before the message has come.
      await until(async () => await scriptCalls(watcher) > before, "it asks whether the lock is held");
      assertEquals(await store.renew(claim), "renewed");
      if (action === "steal") await grant(elsewhere, thief, { steal: true });
      else await elsewhere.evict("a", { meta: action === "evict" && { job: "evict" } });
      await elsewhere.release(thief);
      const by = await inTime(revoked, HANG_MS, "notified");
      assertEquals(by?.["job"], action === "evict without meta" ? undefined : action === "steal" ? "thief" : "evict");
    }
  }
});

testOnServer("revocation() asks the server before it trusts a message", async ({ server }) => {
  const [client, rival] = [server.connect(), server.connect()];
  const store = redis(tested(client));
  for (const claim of [claimOf("a"), claimOf("a", "shared"), claimOf("a", "exclusive", LONG, "me")]) {
    await grant(store, claim);
    let resolved = false;
    const evicted = store.revocation!(claim, new AbortController().signal).then(() => resolved = true);
    await until(async () => await subscribers(client) === 1, "it is subscribed");
    const before = await scriptCalls(rival);
    await rival.publish("holdfast:evicted", idOf(claim));
    await until(async () => await scriptCalls(rival) > before, "it asks");
    // The answer to that comes before the one to this.
    assertEquals(await store.renew(claim), "renewed");
    assert(!resolved, "it is held");
    assertEquals(await store.evict!("a"), 1);
    await within(evicted, "it was taken away");
  }
});

testOnServer(
  "evict() and steal take nothing from holders that came after the named ones",
  async ({ server, client }) => {
    const store = redis(tested(client));
    const keys = lockKeys("lock:a");
    for (const kind of ["exclusive", "shared", 2] as const) {
      const [first, second, thief] = [claimOf("a", kind), claimOf("a", kind), claimOf("a")];
      const evict = (...holders: string[]) =>
        client.eval(scripts.evict.source, 5, ...keys.slice(0, 5), "1500", "", ...holders);
      const steal = (...holders: string[]) => stealAs(client, thief, holders);
      await grant(store, first);
      const [none, digest, handle] = await evict() as [number, string, string];
      assertEquals([none, handle], [0, first.owner], "nobody is meant");
      const named = [digest];
      assertEquals(await steal(), [":steal", ...named]);
      if (kind !== "exclusive") {
        await grant(store, second);
        assertEquals((await evict(...named) as unknown[]).length, 3, "one is taken, and one is left");
      } else {
        assertEquals(await evict(...named), [1]);
        await grant(store, second);
      }
      assertEquals(await store.renew(first), "lost");
      assertEquals((await evict(...named) as unknown[])[0], 0);
      assertEquals((await steal(...named) as unknown[]).length, 2, "another one holds it");
      assertEquals(await store.renew(second), "renewed");
      assert(await store.release(second), "released");
      assertEquals(await server.leftovers(), []);
    }
  },
);

testOnServer("attempt() does not steal while one of the holders was not named", async ({ server, client }) => {
  const store = redis(tested(client));
  for (const kind of ["shared", 2] as const) {
    const [first, second, thief] = [claimOf("a", kind), claimOf("a", kind), claimOf("a")];
    const steal = (...holders: string[]) => stealAs(client, thief, holders);
    await grant(store, first);
    const named = (await steal() as string[]).slice(1);
    await grant(store, second);
    const [refused, ...others] = await steal(...named) as string[];
    assertEquals([refused, others.length], [":steal", 1], "one is named, and another one is there");
    for (const claim of [first, second]) assertEquals(await store.renew(claim), "renewed");
    assert(typeof await steal(...named, ...others) === "string", "now both were named");
    for (const claim of [first, second]) assertEquals(await store.renew(claim), "lost");
    assert(await store.release(thief), "released");
    assertEquals(await server.leftovers(), []);
  }
});

testClean(
  "attempt() steals although another holder came while it asked for the holders",
  async ({ server, client }) => {
    const [store, other] = [redis(tested(client)), redis(tested(server.connect()))];
    const [first, second, thief] = [claimOf("a", "shared"), claimOf("a", "shared"), claimOf("a")];
    await grant(other, first);
    const { port } = Wakeups.of(tested(client));
    const evalsha = port.evalsha.bind(port);
    let scriptsRun = 0;
    port.evalsha = async (...args) => {
      const reply = await evalsha(...args);
      if (scriptsRun++ === 0) await grant(other, second);
      return reply;
    };
    await grant(store, thief, { steal: true });
    assertEquals(scriptsRun, 3);
    for (const claim of [first, second]) assertEquals(await other.renew(claim), "lost");
    assert(await store.release(thief), "released");
  },
);

testOnServer("evict() and steal leave no number of a renewal behind", async ({ server }) => {
  const store = redis(tested(server.connect()));
  for (const claim of [claimOf("a"), claimOf("a", "shared"), claimOf("a", 2), claimOf("a", "exclusive", LONG, "me")]) {
    for (const action of ["evict", "steal"]) {
      await grant(store, claim);
      assertEquals(await store.renew({ ...claim, renewal: 1 }), "renewed");
      const thief = claimOf("a");
      if (action === "steal") {
        await grant(store, thief, { steal: true });
        await store.release(thief);
      } else assertEquals(await store.evict!("a"), 1);
      assertEquals(await server.leftovers(), []);
    }
  }
});

testOnServer("revocation() does not resolve while the lock is held, and leaves no listener", async ({ client }) => {
  const store = redis(tested(client));
  for (const claim of [claimOf("a"), claimOf("a", "shared", LONG, "me"), claimOf("a", 2)]) {
    await grant(store, claim);
    const { signal, controller } = controlled();
    let resolved = false;
    const evicted = store.revocation!(claim, signal).then(() => resolved = true);
    await until(async () => await subscribers(client) === 1, "it is subscribed");
    // Others are none of its concern; nor are those whose names are like its own.
    for (const other of ["rival", claim.owner, idOf(claim) + "x", ""]) {
      if (other !== idOf(claim)) await client.publish("holdfast:evicted", other);
    }
    await store.renew(claim);
    assert(!resolved, "it is held");
    controller.abort();
    await within(evicted, "aborted");
    assertEquals(getEventListeners(signal, "abort").length, 0);
    await within(store.revocation!(claim, signal), "aborted before");
    assertEquals(getEventListeners(signal, "abort").length, 0);
    assert(await store.release(claim), "released");
  }
});

testOfMessages("revocation() resolves although the message was lost with the connection", async () => {
  await using server = await RedisServer.start();
  const [client, other] = [server.connect(), server.connect()];
  const [store, elsewhere] = [redis(tested(client)), redis(tested(other))];
  for (let round = 0; round < 3; round++) {
    const [lost, kept] = [claimOf("a"), claimOf("b")];
    for (const claim of [lost, kept]) await grant(store, claim);
    const { signal, controller } = controlled();
    let resolved = false;
    const evicted = store.revocation!(lost, signal);
    const never = store.revocation!(kept, signal).then(() => resolved = true);
    await until(async () => await subscribers(other) === 1, "it is subscribed");
    // Both arrive before the client can have connected anew.
    await Promise.all([other.call("CLIENT", "KILL", "TYPE", "pubsub"), elsewhere.evict!("a")]);
    await within(evicted, "it asks once it is subscribed again");
    assert(!resolved, "the other is held");
    controller.abort();
    await never;
    await store.release(kept);
  }
});

testClean("revocation() resolves next to waiters of the same client", async ({ server }) => {
  const [client, other] = [server.connect(), server.connect()];
  const holder = await acquire(tested(client), "a", { lease: LONG, renew: false });
  const waiting = acquire(tested(client), "a", { wait: HANG_MS });
  await until(async () => await client.zcard("{lock:a}:queue") === 1, "it is queued");
  await subscribed(client);
  const { signal } = holder;
  // The server was asked once, before: only a message can tell now.
  await client.ping();
  const thief = await acquire(tested(other), "a", { steal: true });
  await until(() => signal.aborted, "the holder is notified");
  await thief.release();
  await (await waiting).release();
  await assertRejects(() => holder.release(), LockLostError);
  assertEquals(await subscribers(other), 1);
});

testClean("revocation() that may not subscribe waits for its signal", async ({ server }) => {
  const admin = server.connect();
  await admin.call("ACL", "SETUSER", "deaf", "on", ">secret", "~*", "+@all", "resetchannels");
  const client = server.connect({ username: "deaf", password: "secret" });
  const lock = await acquire(tested(client), "a", { lease: LONG });
  assert(!lock.signal.aborted, "held");
  await lock.extend();
  assert(lock.held && !lock.signal.aborted, "held");
  await lock.release();
});

/** How many scripts clients have had executed. */
async function scriptCalls(client: Redis): Promise<number> {
  const calls = (await client.info("commandstats")).matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm);
  return [...calls].reduce((sum, [, number]) => sum + Number(number), 0);
}

/** The id under which a handle holds a lock. */
function idOf({ owner, handle }: Claim): string {
  return handle ?? owner;
}

function controlled(): { signal: AbortSignal; controller: AbortController } {
  const controller = new AbortController();
  return { signal: controller.signal, controller };
}

async function within(promise: Promise<unknown>, what: string): Promise<void> {
  await inTime(promise, HANG_MS, what);
}

async function subscribers(client: Redis): Promise<number> {
  const [, number] = await client.call("PUBSUB", "NUMSUB", "holdfast:evicted") as [string, number];
  return Number(number);
}

/** A client, and the messages on the channel of all clients from now on. */
async function evictedHandles(server: RedisServer): Promise<[Redis, string[]]> {
  const [client, watcher] = [server.connect(), server.connect()];
  const messages: string[] = [];
  watcher.on("message", (_channel: string, message: string) => messages.push(message));
  await watcher.subscribe("holdfast:evicted");
  return [client, messages];
}

/** Sends one attempt that steals the lock "a" from the named holders only. */
async function stealAs(client: Redis, { owner }: Claim, holders: readonly string[]): Promise<unknown> {
  const keys = lockKeys("lock:a");
  const args = [owner, "60000", "", "", "", "", ":steal", "", ...holders];
  return await client.eval(scripts.attempt.source, keys.length, ...keys, ...args);
}
