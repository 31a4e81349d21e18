import { assert, assertEquals } from "@std/assert";
import type { Claim, Store } from "@holdfast/lock";
import type { Redis } from "ioredis";
import { Buffer } from "node:buffer";
import { lockKeys } from "../../../src/stores/redis/keys/keys.ts";
import { POLL_MS } from "../../../src/stores/redis/constants.ts";
import { until } from "../../support/until.ts";
import { RedisServer } from "../../support/redis_server.ts";
import { ask, claimOf, clash, grant, LONG } from "../../support/claims.ts";
import { testOfMessages } from "./tested.ts";
import { type Identity, identityOf } from "./identity.ts";
import { subscribed } from "./wakeups/subscribed.ts";
import { serverStore } from "../../support/server_store.ts";
import { reservingForLong } from "./long_reservations.ts";
import { testClean, testOnServer } from "./on_server.ts";

/** A lease that a test waits for the end of, in milliseconds. */
const SHORT = 300;

/** A lease that ends before the next poll, in milliseconds, and not while a machine stands still for a while. */
const SOON = POLL_MS - 100;

const HOLDERS = "{lock:a}:holders";
const QUEUE = "{lock:a}:queue";

testClean("attempt() grants shared handles together, each with its own fence", async ({ client, store }) => {
  const claims = [claimOf("a", "shared"), claimOf("a", "shared"), claimOf("a", "shared")];
  let last = 0n;
  for (const claim of claims) {
    const fence = await grant(store, claim);
    assert(fence > last, "the fence rises");
    last = fence;
  }
  assertEquals(await client.set("lock:a", "rival", "PX", LONG, "NX"), null);
  await ask(store, claimOf("a"), false);
  for (const claim of claims) {
    assertEquals(await client.get("lock:a"), ":shared");
    assert(await store.release(claim) && !await store.release(claim), "released once");
  }
  await store.release(claims[0]!);
});

testOnServer("attempt() gives each shared handle its own lease", async ({ server, client, store }) => {
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

testClean("attempt() lets no shared newcomer past the queue", async ({ client, store }) => {
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
});

testClean("release() serves shared waiters in a row together, and notifies the next one", async ({ server }) => {
  const [client, watcher] = [reservingForLong(server.connect()), server.connect()];
  const store = serverStore(client);
  const notified: string[] = [];
  watcher.on("pmessage", (_pattern: string, _channel: string, message: string) => notified.push(message));
  await watcher.psubscribe("holdfast:*");
  // Waiters that were queued before it is there count as those of another client.
  await subscribed(client);
  const [holder, writer] = [claimOf("a"), claimOf("a")];
  const readers = [claimOf("a", "shared"), claimOf("a", "shared"), claimOf("a", "shared")];
  await grant(store, holder);
  for (const claim of [readers[0]!, readers[1]!, writer, readers[2]!]) await ask(store, claim);
  await store.release(holder);
  assertEquals(await client.get("lock:a"), ":shared");
  assertEquals(new Set(await client.zrange(HOLDERS, 0, "-1")), new Set([readers[0]!.owner, readers[1]!.owner]));
  assertEquals(await client.zrange(QUEUE, 0, "-1"), [writer.owner, readers[2]!.owner]);
  await assertEnds(client, LONG);
  await until(() => notified.length >= 3, "they are notified");
  assertEquals(notified, [`!${readers[0]!.owner}`, `!${readers[1]!.owner}`, `?${writer.owner}`]);
  for (const reader of readers.slice(0, 2)) await grant(store, reader);
  for (const reader of readers.slice(0, 2)) assert(await store.release(reader), "released");
  await until(() => notified.length >= 5, "the next ones are notified");
  assertEquals(notified.slice(3), [`!${writer.owner}`, `?${readers[2]!.owner}`]);
  await grant(store, writer);
  await store.release(writer);
  await grant(store, readers[2]!);
  await store.release(readers[2]!);
});

testOfMessages("release() notifies the next waiter of another client, however many it serves", async () => {
  await using server = await RedisServer.start();
  const [client, other, watcher] = [server.connect(), server.connect(), server.connect()];
  const [store, distant] = [serverStore(client), serverStore(other)];
  const notified: string[] = [];
  watcher.on("pmessage", (_pattern: string, _channel: string, message: string) => notified.push(message));
  await watcher.psubscribe("holdfast:*");
  await subscribed(client, other);
  const holder = claimOf("a");
  const readers = Array.from({ length: 8 }, () => claimOf("a", "shared"));
  const writers = Array.from({ length: 8 }, () => claimOf("a"));
  await grant(store, holder);
  for (const claim of [...readers, ...writers.slice(0, 7)]) await ask(store, claim);
  await ask(distant, writers[7]!);
  await store.release(holder);
  await until(() => notified.length >= 10, "they are notified");
  assertEquals(notified, [
    ...readers.map(({ owner }) => `!${owner}`),
    `?${writers[0]!.owner}`,
    `?${writers[7]!.owner}`,
  ]);
  for (const claim of [...writers, ...readers]) await store.release(claim);
  assertEquals(await server.leftovers(), []);
});

testClean("attempt() of the first of several shared waiters serves those behind, too", async ({ client, store }) => {
  const [holder, first, second] = [claimOf("a"), claimOf("a", "shared"), claimOf("a", "shared")];
  await grant(store, holder);
  await ask(store, first);
  await ask(store, second);
  await client.pexpire("lock:a", 1);
  await until(async () => await client.exists("lock:a") === 0, "the holder's lease has ended");
  await grant(store, first);
  assertEquals(await client.zcard(HOLDERS), 2);
  await assertEnds(client, LONG);
  for (const claim of [first, second]) assert(await store.release(claim), "released");
});

testClean("release() of a waiter serves those who waited only behind it", async ({ client, store }) => {
  const [holder, writer, reader] = [claimOf("a", "shared"), claimOf("a"), claimOf("a", "shared")];
  await grant(store, holder);
  await ask(store, writer);
  await ask(store, reader);
  assert(await store.release(writer), "it gives up its place");
  assert((await client.zrange(HOLDERS, 0, "-1")).includes(reader.owner), "the reader is served");
  for (const claim of [reader, holder]) assert(await store.release(claim), "released");
});

testClean("attempt() and release() pass over a dead waiter that does not fit now", async ({ client, store }) => {
  const [, , waiters] = lockKeys("lock:a");
  const [holder, dead, writer] = [claimOf("a", "shared"), claimOf("a"), claimOf("a")];
  const readers = [claimOf("a", "shared"), claimOf("a", "shared")];
  await grant(store, holder);
  const dies = async () => {
    await ask(store, dead);
    await client.hset(waiters, dead.owner, `1?holdfast:${crypto.randomUUID()}`);
  };
  await dies();
  assert((await store.attempt(readers[0]!, { enqueue: true })).granted, "nobody alive is ahead of it");
  await ask(store, writer);
  await dies();
  await ask(store, readers[1]!);
  await store.release(writer);
  assert((await client.zrange(HOLDERS, 0, "-1")).includes(readers[1]!.owner), "served past the dead");
  for (const claim of [...readers, holder]) assert(await store.release(claim), "released");
});

testClean("attempt() gets a lock after a shared reservation that nobody claimed", async ({ client, store }) => {
  const [holder, sleeper, reader, writer] = [
    claimOf("a"),
    claimOf("a", "shared"),
    claimOf("a", "shared"),
    claimOf("a"),
  ];
  await grant(store, holder);
  for (const claim of [sleeper, reader, writer]) await ask(store, claim);
  await store.release(holder);
  await grant(store, reader);
  // As after the time for which it is reserved.
  await client.zadd(HOLDERS, 1, sleeper.owner);
  assert(!await isHeld(store, sleeper), "the reservation has ended");
  assert(await store.release(reader), "released");
  await grant(store, writer);
  // It is alive after all.
  await ask(store, sleeper);
  await store.release(writer);
  await grant(store, sleeper);
  await store.release(sleeper);
});

testOfMessages("attempt() passes over a shared waiter whose client is gone", async () => {
  await using server = await RedisServer.start();
  const [client, gone] = [server.connect(), server.connect()];
  const [store, other] = [serverStore(client), serverStore(gone)];
  await subscribed(client, gone);
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

testClean("attempt() grants no more permits than there are, in order", async ({ client, store }) => {
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
});

testOfMessages("attempt() gets the permit of a dead holder after its lease", async () => {
  await using server = await RedisServer.start();
  const client = reservingForLong(server.connect());
  const store = serverStore(client);
  const [dead, alive, waiter, next] = [claimOf("a", 2, SOON), claimOf("a", 2), claimOf("a", 2), claimOf("a", 2)];
  await subscribed(client);
  await grant(store, dead);
  await grant(store, alive);
  for (const claim of [waiter, next]) await ask(store, claim);
  await store.renew({ ...dead, lease: 1, renewal: 1 });
  await until(async () => !await isHeld(store, dead), "its lease has ended");
  // Any attempt serves the next waiter.
  await ask(store, next);
  assert(await isHeld(store, waiter), "it has got it");
  await grant(store, waiter);
  await ask(store, next);
  for (const claim of [alive, waiter]) await store.release(claim);
  await grant(store, next);
  await store.release(next);
  assertEquals(await server.leftovers(), []);
});

testClean("attempt() keeps who queued for other permits than the holders'", async ({ server, client, store }) => {
  const queued = claimOf("a", 3);
  await client.set("lock:a", "rival", "PX", LONG);
  assertEquals(await clash(store, queued), { present: "exclusive", own: false });
  await client.del("lock:a");
  // Who queued for three permits stays when the lock is had with two in between.
  const [first, second] = [claimOf("a", 3), claimOf("a", 3)];
  await grant(store, first);
  await grant(store, second);
  await grant(store, claimOf("a", 3));
  await ask(store, queued);
  await client.set("lock:a", "rival", "PX", LONG);
  await ask(store, queued);
  // Nor does it matter that the answer to its first attempt was lost, or that it was taken for dead.
  await ask(serverStore(server.connect()), queued);
  await client.zrem(QUEUE, queued.owner);
  await ask(store, queued);
  await client.del("lock:a");
  await grant(store, queued);
  await store.release(queued);
});

testClean("attempt() begins again after a rival has deleted the key of a shared lock", async ({ client, store }) => {
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
    await client.del(HOLDERS, "{lock:a}:grants");
  }
});

testOnServer(
  "attempt() of a shared lock is refused where a key is of another type",
  async ({ server, client, store }) => {
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
  },
);

testOnServer(
  "attempt() keeps a sole shared holder's lease when a second one joins",
  async ({ server, client, store }) => {
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
      // A rival may have taken the expiry away.
      await grant(store, endless);
      await client.persist("lock:b");
      await grant(store, { ...second, name: "b" });
      for (const claim of [endless, { ...second, name: "b" }]) await store.release(claim);
      assertEquals(await server.leftovers(), []);
    }
  },
);

testClean("attempt() takes a foreign value for a holder, whatever it looks like", async ({ client, store }) => {
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
});

testOnServer("attempt() gets a lock whose list of holders is gone", async ({ server, client, store }) => {
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

testOnServer(
  "renew() keeps the number of the last renewal for as long as the lock is held",
  async ({ server, client, store }) => {
    const kinds: (() => Claim)[] = [
      () => claimOf("a"),
      () => claimOf("a", "shared"),
      () => claimOf("a", 2),
      () => claimOf("a", "exclusive", LONG, "me"),
    ];
    for (const [i, make] of kinds.entries()) {
      const claims = i === 0 ? [make()] : [make(), make()];
      for (const claim of claims) {
        await grant(store, claim);
        for (const renewal of [1, 3]) assertEquals(await store.renew({ ...claim, renewal }), "renewed");
        for (const renewal of [undefined, 1, 2]) {
          assertEquals(await store.renew({ ...claim, lease: SHORT, renewal }), "renewed", "but not shortened");
        }
        assert(await client.pttl("lock:a") > SHORT, "the later one counts");
        assertEquals(await store.renew({ ...claim, renewal: 3 }), "renewed", "the last one again");
      }
      // Asked for once more, as when an attempt arrives late, it keeps the number.
      for (const claim of claims) {
        await grant(store, claim);
        assertEquals(await store.renew({ ...claim, lease: SHORT, renewal: 2 }), "renewed");
      }
      assert(await client.pttl("lock:a") > SHORT, "the later one counts");
      const byHandle = (one: Identity, other: Identity) => one.handle < other.handle ? -1 : 1;
      assertEquals(
        (await store.query!()).held.map(identityOf).sort(byHandle),
        claims.map(identityOf).sort(byHandle),
      );
      for (const claim of claims) assert(await store.release({ ...claim, renewal: 3 }), "released");
      assertEquals(await store.renew({ ...claims[0]!, renewal: 4 }), "lost");
      assertEquals(await server.leftovers(), []);
    }
    // Who was alone takes its number along when others come, and leaves none behind.
    for (const kind of ["shared", 2] as const) {
      const [first, second, third] = [claimOf("a", kind), claimOf("a", kind), claimOf("a", kind)];
      await grant(store, first);
      await store.renew({ ...first, renewal: 2 });
      await grant(store, second);
      assertEquals(await store.renew({ ...first, lease: SHORT, renewal: 1 }), "renewed");
      if (kind === 2) await ask(store, third, false);
      await store.release(second);
      assert(await client.pttl("lock:a") > SHORT, "the later one counts");
      await grant(store, second);
      await store.release({ ...first, renewal: 2 });
      assertEquals(await client.zrange(HOLDERS, 0, "-1"), [second.owner]);
      await grant(store, third);
      for (const claim of [second, third]) assert(await store.release(claim), "released");
      assertEquals(await server.leftovers(), []);
    }
  },
);

testClean("retake() restores the number of the last renewal", async ({ client, store }) => {
  const claim = { ...claimOf("a"), renewal: 5 };
  const fence = await grant(store, claim);
  await store.renew(claim);
  await client.del("lock:a");
  assert(await store.retake(claim, fence), "it is held again");
  assertEquals(await store.renew({ ...claim, renewal: 4, lease: SHORT }), "renewed");
  assert(await client.pttl("lock:a") > SHORT, "by a later one");
  await store.release(claim);
});

testOfMessages("renew() and release() wake the head of the queue when the lock is free earlier", async () => {
  await using server = await RedisServer.start();
  const [client, watcher] = [server.connect(), server.connect()];
  const store = serverStore(client);
  const notified: string[] = [];
  watcher.on("pmessage", (_pattern: string, _channel: string, message: string) => notified.push(message));
  await watcher.psubscribe("holdfast:*");
  await subscribed(client);
  const mine = (lease: number) => claimOf("a", "exclusive", lease, "me");
  const cases: Record<string, [holders: Claim[], action: (holders: Claim[]) => Promise<unknown>]> = {
    "an exclusive holder": [[claimOf("a")], ([holder]) => store.renew({ ...holder!, lease: SOON, renewal: 1 })],
    "a shared holder": [
      [claimOf("a", "shared")],
      ([holder]) => store.renew({ ...holder!, lease: SOON, renewal: 1 }),
    ],
    "an owner renews": [[mine(LONG)], ([holder]) => store.renew({ ...holder!, lease: SOON, renewal: 1 })],
    "an owner releases": [[mine(SOON), mine(LONG)], ([, long]) => store.release(long!)],
    "sharing": [
      [claimOf("a", "shared", SOON), claimOf("a", "shared")],
      ([, long]) => store.release(long!),
    ],
    "stealing": [[claimOf("a")], () => grant(store, claimOf("a", "exclusive", SOON), { steal: true })],
  };
  for (const [what, [holders, action]] of Object.entries(cases)) {
    const [head, next] = [claimOf("a"), claimOf("a")];
    for (const holder of holders) await grant(store, holder);
    const asked = [await ask(store, head), await ask(store, next)];
    if (what !== "an owner releases") assertEquals(asked, [POLL_MS, POLL_MS], what);
    if (holders.length === 1) await store.renew({ ...holders[0]!, lease: 2 * LONG });
    notified.length = 0;
    await action(holders);
    await until(() => notified.some((message) => message[0] === "!"), `${what}: somebody is notified`);
    assertEquals(notified.filter((message) => message[0] === "!"), [`!${head.owner}`], what);
    const again = await ask(store, head);
    // A millisecond more than the lease, and one because the server's cached time may be behind what TIME says.
    assert(again <= SOON + 2, `${what}: it looks again when that ends, not in ${again} ms`);
    await client.del(...lockKeys("lock:a"));
  }
});

testClean("vote(), confirm() and retake() know a shared handle", async ({ client, store }) => {
  const [one, two, writer] = [claimOf("a", "shared"), claimOf("a", "shared"), claimOf("a")];
  const options = { enqueue: false, guess: 1n, maxClockSkew: 0 };
  for (const claim of [one, two]) assert((await store.vote(claim, options)).granted, "granted");
  assert(!(await store.vote(writer, options)).granted, "busy");
  assert(await store.confirm(one, 10n) && await store.confirm(two, 11n), "confirmed");
  assert(!await store.confirm(writer, 12n), "not its own");
  await store.release(one);
  assert(!await store.confirm(one, 12n), "not its own any more");
  assertEquals(await store.inspect(one), { state: "free", counter: 11n }, "beside the other");
  assertEquals(await store.inspect(two), { state: "held", counter: 11n });
  assertEquals(await store.inspect(writer), { state: "taken", counter: 11n });
  assert(!await store.retake(one, 10n), "somebody may have held it since");
  assert(!await store.retake(writer, 11n), "it is held");
  assert(await store.retake(one, 11n) && await store.confirm(one, 12n), "it shares again");
  for (const claim of [one, two]) assert(await store.release(claim), "released");
  assert(await store.retake(two, 12n), "also when nobody holds it");
  assertEquals(await client.get("lock:a"), ":shared");
  assert(!(await store.vote(claimOf("a", 2), options)).granted, "a vote knows no conflict");
  await store.release(two);
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
