import { assert, assertEquals } from "@std/assert";
import type { Claim, Store } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import type { Redis } from "ioredis";
import { Buffer } from "node:buffer";
import { CLAIM } from "../../../src/stores/redis/scripts.ts";
import { until } from "../../faults/until.ts";
import { RedisServer } from "../../redis_server.ts";
import { ask, claimOf, clash, grant, LONG } from "./claims.ts";

/** A lease that a test waits for the end of, in milliseconds. */
const SHORT = 300;

const HOLDERS = "{lock:a}:holders";
const QUEUE = "{lock:a}:queue";

Deno.test("attempt() grants shared holds beside each other, with fences of their own, and excludes everybody else", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  const claims = [claimOf("a", "shared"), claimOf("a", "shared"), claimOf("a", "shared")];
  let last = 0n;
  for (const claim of claims) {
    const fence = await grant(store, claim);
    assert(fence > last, "the fence rises");
    last = fence;
  }
  assertEquals(await client.set("lock:a", "stranger", "PX", LONG, "NX"), null);
  await ask(store, claimOf("a"), false);
  for (const claim of claims) {
    assertEquals(await client.get("lock:a"), ":shared");
    assert(await store.release(claim) && !await store.release(claim), "released once");
  }
  await store.release(claims[0]!);
  assertEquals(await server.leftovers(), []);
});

Deno.test("each shared hold ends with its own lease, and the lock with the last of them", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  const [short, middle, long] = [
    claimOf("a", "shared", SHORT),
    claimOf("a", "shared"),
    claimOf("a", "shared", 2 * LONG),
  ];
  for (const claim of [short, long, middle]) {
    await grant(store, claim);
    // Asked again, as when the answer was lost.
    await grant(store, { ...claim, lease: 20 });
  }
  await assertEnds(client, 2 * LONG);
  await until(async () => !await isHeld(store, short), "the lease of one has ended");
  assertEquals(await store.renew(short), "lost");
  assertEquals(await store.renew(middle), "renewed");
  await assertEnds(client, 2 * LONG);
  assert(!await store.release(short), "it is held no more");
  // A renewal may make its lease shorter, too.
  assertEquals(await store.renew({ ...long, lease: LONG / 2 }), "renewed");
  await assertEnds(client, LONG);
  assert(await store.release(middle), "released");
  await assertEnds(client, LONG / 2);
  assertEquals(await store.renew({ ...long, lease: 3 * LONG }), "renewed");
  await assertEnds(client, 3 * LONG);
  assertEquals(await store.renew({ ...long, lease: SHORT }), "renewed");
  await until(async () => (await server.leftovers()).length === 0, "all have ended");
});

Deno.test("attempt() lets no shared newcomer past the queue", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  const [holder, writer, reader] = [claimOf("a", "shared"), claimOf("a"), claimOf("a", "shared")];
  await grant(store, holder);
  await ask(store, writer);
  await ask(store, claimOf("a", "shared"), false);
  await ask(store, reader);
  assertEquals(await client.zrange(QUEUE, 0, "-1"), [writer.owner, reader.owner]);
  // Asking again changes nothing.
  await ask(store, reader);
  await store.release(holder);
  await ask(store, reader);
  await grant(store, writer);
  await store.release(writer);
  await grant(store, reader);
  await store.release(reader);
  assertEquals(await server.leftovers(), []);
});

Deno.test("release() serves the shared waiters in a row together, and tells the next in line", async () => {
  await using server = await RedisServer.start();
  const [client, watcher] = [server.connect(), server.connect()];
  const store = redis(client);
  const told: string[] = [];
  watcher.on("pmessage", (_pattern: string, _channel: string, message: string) => told.push(message));
  await watcher.psubscribe("holdfast:*");
  const [holder, writer] = [claimOf("a"), claimOf("a")];
  const readers = [claimOf("a", "shared"), claimOf("a", "shared"), claimOf("a", "shared")];
  await grant(store, holder);
  for (const claim of [readers[0]!, readers[1]!, writer, readers[2]!]) await ask(store, claim);
  await store.release(holder);
  assertEquals(await client.get("lock:a"), ":shared");
  assertEquals(new Set(await client.zrange(HOLDERS, 0, "-1")), new Set([readers[0]!.owner, readers[1]!.owner]));
  assertEquals(await client.zrange(QUEUE, 0, "-1"), [writer.owner, readers[2]!.owner]);
  await assertEnds(client, CLAIM);
  await until(() => Promise.resolve(told.length >= 3), "they are told");
  assertEquals(told, [`!${readers[0]!.owner}`, `!${readers[1]!.owner}`, `?${writer.owner}`]);
  for (const reader of readers.slice(0, 2)) {
    await grant(store, reader);
    assert(await store.release(reader), "released");
  }
  await until(() => Promise.resolve(told.length >= 5), "the next ones are told");
  assertEquals(told.slice(3), [`!${writer.owner}`, `?${readers[2]!.owner}`]);
  await grant(store, writer);
  await store.release(writer);
  await grant(store, readers[2]!);
  await store.release(readers[2]!);
  assertEquals(await server.leftovers(), []);
});

Deno.test("release() tells the next of another client as well, however many it serves", async () => {
  await using server = await RedisServer.start();
  const [client, other, watcher] = [server.connect(), server.connect(), server.connect()];
  const [store, distant] = [redis(client), redis(other)];
  const told: string[] = [];
  watcher.on("pmessage", (_pattern: string, _channel: string, message: string) => told.push(message));
  await watcher.psubscribe("holdfast:*");
  const holder = claimOf("a");
  const readers = Array.from({ length: 8 }, () => claimOf("a", "shared"));
  const writers = Array.from({ length: 8 }, () => claimOf("a"));
  await grant(store, holder);
  for (const claim of [...readers, ...writers.slice(0, 7)]) await ask(store, claim);
  await ask(distant, writers[7]!);
  await store.release(holder);
  await until(() => Promise.resolve(told.length >= 10), "they are told");
  assertEquals(told, [...readers.map(({ owner }) => `!${owner}`), `?${writers[0]!.owner}`, `?${writers[7]!.owner}`]);
  for (const claim of [...writers, ...readers]) await store.release(claim);
  assertEquals(await server.leftovers(), []);
});

Deno.test("attempt() serves those behind as well when it is the first of several shared waiters", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  const [holder, first, second] = [claimOf("a", "exclusive", SHORT), claimOf("a", "shared"), claimOf("a", "shared")];
  await grant(store, holder);
  await ask(store, first);
  await ask(store, second);
  await until(async () => await client.exists("lock:a") === 0, "the holder's lease has ended");
  await grant(store, first);
  assertEquals(await client.zcard(HOLDERS), 2);
  await assertEnds(client, LONG);
  for (const claim of [first, second]) assert(await store.release(claim), "released");
  assertEquals(await server.leftovers(), []);
});

Deno.test("release() of a place in the queue serves those who waited only for that one", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  const [holder, writer, reader] = [claimOf("a", "shared"), claimOf("a"), claimOf("a", "shared")];
  await grant(store, holder);
  await ask(store, writer);
  await ask(store, reader);
  assert(await store.release(writer), "it gives up its place");
  assert((await client.zrange(HOLDERS, 0, "-1")).includes(reader.owner), "the reader is served");
  for (const claim of [reader, holder]) assert(await store.release(claim), "released");
  assertEquals(await server.leftovers(), []);
});

Deno.test("a shared reservation that nobody claims ends by itself, and holds up nobody for longer", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  const [holder, sleeper, reader, writer] = [
    claimOf("a"),
    claimOf("a", "shared"),
    claimOf("a", "shared"),
    claimOf("a"),
  ];
  await grant(store, holder);
  for (const claim of [sleeper, reader, writer]) await ask(store, claim);
  await store.release({ ...holder, lease: 250 });
  await grant(store, reader);
  await until(async () => !await isHeld(store, sleeper), "the reservation has ended");
  assert(await store.release(reader), "released");
  await grant(store, writer);
  // It is alive after all.
  await ask(store, sleeper);
  await store.release(writer);
  await grant(store, sleeper);
  await store.release(sleeper);
  assertEquals(await server.leftovers(), []);
});

Deno.test("attempt() passes over a shared waiter whose client is gone", async () => {
  await using server = await RedisServer.start();
  const [client, gone] = [server.connect(), server.connect()];
  const [store, other] = [redis(client), redis(gone)];
  const [holder, dead, alive] = [claimOf("a"), claimOf("a", "shared"), claimOf("a", "shared")];
  await grant(store, holder);
  await ask(other, dead);
  await ask(store, alive);
  gone.disconnect();
  await until(
    async () => String(await client.call("PUBSUB", "NUMSUB", "holdfast:evicted")) === "holdfast:evicted,1",
    "1",
  );
  await store.release(holder);
  assertEquals(await client.zrange(HOLDERS, 0, "-1"), [alive.owner]);
  await store.release(alive);
  assertEquals(await server.leftovers(), []);
});

Deno.test("attempt() grants no more than so many permits, and a freed one to the head of the queue", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  const [a, b, c, d, e] = [claimOf("a", 2), claimOf("a", 2), claimOf("a", 2), claimOf("a", 2), claimOf("a", 2)];
  assert(await grant(store, a) < await grant(store, b), "the fence rises");
  assertEquals(await client.get("lock:a"), ":permits=2");
  await ask(store, e, false);
  for (const claim of [c, d]) await ask(store, claim);
  await store.release(a);
  await ask(store, d);
  await ask(store, e, false);
  await grant(store, c);
  await store.release(b);
  await grant(store, d);
  await ask(store, e, false);
  for (const claim of [c, d]) assert(await store.release(claim), "released");
  assertEquals(await server.leftovers(), []);
});

Deno.test("the permit of a holder that died is free after its lease, when the waiters were told to ask", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  const [dead, alive, waiter, next] = [claimOf("a", 2, 2_000), claimOf("a", 2), claimOf("a", 2), claimOf("a", 2)];
  const began = performance.now();
  await grant(store, dead);
  await grant(store, alive);
  const asked = [await ask(store, waiter), await ask(store, next)];
  const took = performance.now() - began;
  asked.forEach((retryAfter, rank) => {
    assert(retryAfter <= 2_001 + 20 * rank && retryAfter > 2_000 + 20 * rank - took - 2, `${retryAfter} of ${asked}`);
  });
  await until(async () => !await isHeld(store, dead), "its lease has ended");
  // Whoever asks serves whose turn it is.
  await ask(store, next);
  assert(await isHeld(store, waiter), "it has got it");
  await grant(store, waiter);
  await ask(store, next);
  for (const claim of [alive, waiter]) await store.release(claim);
  await grant(store, next);
  await store.release(next);
  assertEquals(await server.leftovers(), []);
});

Deno.test("attempt() refuses other permits than the present holders', does nothing, and lets those who queue go on", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  const queued = claimOf("a", 3);
  for (const present of ["exclusive", "shared", 2] as const) {
    const holder = claimOf("a", present);
    await grant(store, holder);
    const before = await store.query!();
    for (const kind of ["exclusive", "shared", 3, 2] as const) {
      for (const enqueue of [true, false]) {
        if (typeof kind === typeof present && kind !== 3) continue;
        assertEquals(await clash(store, claimOf("a", kind), enqueue), { present, own: false });
      }
    }
    assertEquals(await store.query!(), before);
    assertEquals(await client.exists(QUEUE), 0);
    assertEquals(await store.renew(holder), "renewed");
    await store.release(holder);
  }
  await client.set("lock:a", "stranger", "PX", LONG);
  assertEquals(await clash(store, queued), { present: "exclusive", own: false });
  await client.del("lock:a");
  // Who queued for three permits stays when the lock is had with two in between.
  const [first, second] = [claimOf("a", 3), claimOf("a", 3)];
  await grant(store, first);
  await grant(store, second);
  await grant(store, claimOf("a", 3));
  await ask(store, queued);
  await client.set("lock:a", "stranger", "PX", LONG);
  await ask(store, queued);
  // Nor does it matter that the answer to its first attempt was lost, or that it was taken for dead.
  await ask(redis(server.connect()), queued);
  await client.zrem(QUEUE, queued.owner);
  await ask(store, queued);
  await client.del("lock:a");
  await grant(store, queued);
  await store.release(queued);
  assertEquals(await server.leftovers(), []);
});

Deno.test("attempt() starts anew after a stranger has deleted the key of a lock that several held", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  for (const kind of ["shared", 2, "exclusive"] as const) {
    const [lost, ...more] = [claimOf("a", 2), claimOf("a", 2), claimOf("a", kind)];
    await grant(store, lost);
    await grant(store, more[0]!);
    await client.del("lock:a");
    assertEquals(await store.renew(lost), "lost");
    await grant(store, more[1]!);
    for (const claim of [lost, more[0]!]) {
      assertEquals(await store.renew(claim), "lost");
      assert(!await store.release(claim), "not its own any more");
    }
    assertEquals(await store.renew(more[1]!), "renewed");
    assert(await store.release(more[1]!), "released");
    assertEquals(await client.exists("lock:a"), 0);
    await client.del(HOLDERS);
  }
  assertEquals(await server.leftovers(), []);
});

Deno.test("a lock that several hold is refused where a key is of another type, and stays free", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  const named = (["exclusive", "shared", 2] as const).map((kind) => claimOf("a", kind, LONG, "me"));
  for (const key of ["queue", "holders", "fence"].map((key) => `{lock:a}:${key}`)) {
    await client.hset(key, "mine", 1);
    // Who is alone is in no list.
    const fresh = key === HOLDERS ? [] : [claimOf("a", "shared"), claimOf("a", 2)];
    for (const claim of [...fresh, ...named]) {
      const error = await store.attempt(claim, { enqueue: true }).catch((error: unknown) => error);
      assert(String(error).includes("WRONGTYPE"), String(error));
      assertEquals(await client.keys("*"), [key]);
    }
    assertEquals(await client.hgetall(key), { mine: "1" });
    await client.del(key);
  }
  const [alone, second] = [claimOf("a", "shared"), claimOf("a", "shared")];
  await client.hset(HOLDERS, "mine", 1);
  await grant(store, alone);
  const error = await store.attempt(second, { enqueue: true }).catch((error: unknown) => error);
  assert(String(error).includes("WRONGTYPE"), String(error));
  assertEquals(await store.renew(alone), "renewed");
  assert(await store.release(alone) && !await store.release(second), "the first one held it, and it alone");
  assertEquals(await client.hgetall(HOLDERS), { mine: "1" });
  assertEquals((await server.leftovers()).sort(), [HOLDERS]);
});

Deno.test("who is alone keeps its lease when others come, and is known everywhere before and after", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  for (const kind of ["shared", 2] as const) {
    const marker = kind === 2 ? ":permits=2" : ":shared";
    const [alone, second, endless] = [claimOf("a", kind, LONG / 2), claimOf("a", kind, SHORT), claimOf("b", kind)];
    const fence = await grant(store, alone);
    assertEquals(await client.get("lock:a"), `${marker} ${alone.owner}`);
    assertEquals(await client.exists(HOLDERS), 0);
    assertEquals(await store.renew({ ...alone, lease: LONG }), "renewed");
    assertEquals((await store.query!()).held.map(({ owner }) => owner), [alone.owner]);
    assertEquals([await store.renew(second), await store.release(second)], ["lost", false]);
    assert(await grant(store, second) > fence, "the fence rises");
    await assertEnds(client, LONG);
    assertEquals(await client.get("lock:a"), marker);
    assertEquals(await store.renew(alone), "renewed");
    await until(async () => !await isHeld(store, second), "the second one has ended");
    assert(await store.release(alone), "released");
    // A stranger may have taken the expiry away.
    await grant(store, endless);
    await client.persist("lock:b");
    await grant(store, { ...second, name: "b" });
    for (const claim of [endless, { ...second, name: "b" }]) await store.release(claim);
    assertEquals(await server.leftovers(), []);
  }
});

Deno.test("attempt() takes a stranger's value for a holder, whatever it looks like", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  const values = [
    ":",
    ":shared ",
    ":sharedx",
    ": a",
    ":a b",
    ":permits=",
    ":permits=x",
    ":permits=2x c",
    "a/b",
    "",
    "\xff",
  ];
  for (const value of [...values, Buffer.from([0xff, 0, 0x20, 0xfe])]) {
    await client.set("lock:a", value, "PX", LONG);
    const before = await client.getBuffer("lock:a");
    for (const claim of [claimOf("a"), claimOf("a", "shared"), claimOf("a", "exclusive", LONG, "a")]) {
      await ask(store, claim, false);
      assertEquals([await store.renew(claim), await store.release(claim)], ["lost", false]);
    }
    assertEquals(await clash(store, claimOf("a", 2)), { present: "exclusive", own: false });
    assertEquals((await store.query!()).held.length, 1);
    assertEquals(await client.getBuffer("lock:a"), before);
    assertEquals(await store.evict!("a"), 1);
  }
  assertEquals(await server.leftovers(), []);
});

Deno.test("attempt() takes a lock for free whose list of holders is gone", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  for (const next of ["exclusive", "shared", 2] as const) {
    const [one, two, claim] = [claimOf("a", "shared"), claimOf("a", "shared"), claimOf("a", next)];
    for (const claim of [one, two]) await grant(store, claim);
    await client.del(HOLDERS);
    await grant(store, claim);
    assertEquals([await store.renew(one), await store.release(two)], ["lost", false]);
    assert(await store.release(claim), "released");
    assertEquals(await server.leftovers(), []);
  }
});

Deno.test("vote(), confirm() and retake() take a shared hold for what it is", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = redis(client);
  const [one, two, writer] = [claimOf("a", "shared"), claimOf("a", "shared"), claimOf("a")];
  const options = { enqueue: false, guess: 1n, maxClockSkew: 0 };
  for (const claim of [one, two]) assert((await store.vote(claim, options)).granted, "granted");
  assert(!(await store.vote(writer, options)).granted, "busy");
  assert(await store.confirm(one, 10n) && await store.confirm(two, 11n), "confirmed");
  assert(!await store.confirm(writer, 12n), "not its own");
  await store.release(one);
  assert(!await store.confirm(one, 12n), "not its own any more");
  assert(!await store.retake(one, 10n), "somebody may have held it since");
  assert(!await store.retake(writer, 11n), "it is held");
  assert(await store.retake(one, 11n) && await store.confirm(one, 12n), "it shares again");
  for (const claim of [one, two]) assert(await store.release(claim), "released");
  assert(await store.retake(two, 12n), "also when nobody holds it");
  assertEquals(await client.get("lock:a"), ":shared");
  assert(!(await store.vote(claimOf("a", 2), options)).granted, "a vote knows no conflict");
  await store.release(two);
  assertEquals(await server.leftovers(), []);
});

async function isHeld(store: Store, claim: Claim): Promise<boolean> {
  return (await store.query!()).held.some(({ owner }) => owner === claim.owner);
}

/** The lock and the list of its holders end together, within `ms` milliseconds, and not much sooner. */
async function assertEnds(client: Redis, ms: number): Promise<void> {
  for (const key of ["lock:a", HOLDERS]) {
    const left = await client.pttl(key);
    // A part of a millisecond counts as a whole one.
    assert(left <= ms + 1 && left > ms - Math.min(ms, 10_000), `${key} has ${left} ms left of ${ms}`);
  }
}
