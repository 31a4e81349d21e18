import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, type Lock, LockConflictError, tryAcquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { handleOf } from "../../../src/contract/store.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { acquireWoken } from "./wakeups/acquire_woken.ts";
import { tested, testOfMessages } from "./tested.ts";
import { RedisServer } from "../../support/redis_server.ts";
import { ask, claimOf, clash, grant, LONG } from "../../support/claims.ts";
import { reservingForLong } from "./long_reservations.ts";
import { testClean, testOnServer } from "./on_server.ts";

/** A lease that a test waits for the end of, in milliseconds. */
const SHORT = 300;

const HOLDERS = "{lock:a}:holders";

/** Owners that make a handle id hard to take apart. */
const OWNERS = ["me", "a/b", "/", "a/", "%d+", "a\n b", "\u0000", "😀", "a:b", "*"];

for (const owner of OWNERS) {
  Deno.test(`attempt() of the holding owner ${JSON.stringify(owner)} is granted with one fence`, async () => {
    await using server = await RedisServer.start();
    const client = server.connect();
    // Holds are counted on the server.
    const [store, other] = [redis(tested(client)), redis(tested(server.connect()))];
    const [first, second, third] = [1, 2, 3].map(() => claimOf("a", "exclusive", LONG, owner)) as [
      ReturnType<typeof claimOf>,
      ReturnType<typeof claimOf>,
      ReturnType<typeof claimOf>,
    ];
    const fence = await grant(store, first);
    for (let i = 0; i < 3; i++) assertEquals(await grant(other, second), fence, "it keeps the fence");
    assertEquals(await grant(store, { ...third, mode: "shared" }), fence);
    assertEquals(await client.get("lock:a"), `${owner}/`);
    assertEquals(await client.set("lock:a", "rival", "PX", LONG, "NX"), null);
    for (const kind of ["exclusive", "shared"] as const) {
      await ask(store, claimOf("a", kind), false);
      await ask(store, claimOf("a", kind, LONG, `${owner}/b`), false);
      await ask(store, claimOf("a", kind, LONG, owner + "b"), false);
    }
    assert(await store.release(first), "released");
    assert(!await store.release(first), "but once");
    assertEquals(await store.renew(first), "lost");
    await ask(store, claimOf("a"), false);
    assert(await other.release(second), "released");
    assertEquals(await store.renew({ ...third, mode: "shared" }), "renewed");
    await ask(store, claimOf("a"), false);
    assert(await store.release(third), "released");
    assertEquals(await server.leftovers(), []);
    // All over: a new lock, a new fence.
    assert(await grant(store, first) > fence, "it rises");
    await store.release(first);
    assertEquals(await server.leftovers(), []);
  });
}

testOnServer(
  "attempt() of an owner's second handle is granted past the queue, and once",
  async ({ server, client }) => {
    const store = redis(tested(client));
    for (const kind of ["exclusive", "shared", 1] as const) {
      const [first, second] = [claimOf("a", kind, LONG, "me"), claimOf("a", kind, LONG, "me")];
      const waiter = claimOf("a", kind === 1 ? 1 : "exclusive");
      const fence = await grant(store, first);
      await ask(store, waiter);
      for (let i = 0; i < 3; i++) assertEquals(await grant(store, second), fence);
      await store.release(first);
      await ask(store, waiter);
      await store.release(second);
      assert(await grant(store, waiter) > fence, "it rises");
      await store.release(waiter);
      assertEquals(await server.leftovers(), []);
    }
  },
);

testClean("attempt() that is granted to a holding owner leaves the queue", async ({ client }) => {
  const store = redis(tested(reservingForLong(client)));
  const [holder, rival] = [claimOf("a"), claimOf("a")];
  const [first, second] = [claimOf("a", "exclusive", LONG, "me"), claimOf("a", "exclusive", LONG, "me")];
  await grant(store, holder);
  for (const waiter of [first, rival, second]) await ask(store, waiter);
  await store.release(holder);
  const fence = await grant(store, first);
  assertEquals(await grant(store, second), fence);
  assertEquals(await client.zrange("{lock:a}:queue", 0, "-1"), [rival.owner]);
  for (const claim of [first, second]) assert(await store.release(claim), "released");
  assert(await grant(store, rival) > fence, "it rises");
  await store.release(rival);
});

testClean("renew() and release() of a handle ignore an owner of the same name", async ({ server }) => {
  const store = redis(tested(server.connect()));
  const holder = claimOf("a");
  const thief = claimOf("a", "exclusive", LONG, handleOf(holder));
  const next = claimOf("a", "exclusive", LONG, handleOf(thief));
  await grant(store, holder);
  for (const [robbed, by] of [[holder, thief], [thief, next]] as const) {
    await grant(store, by, { steal: true });
    assertEquals(await store.renew(robbed), "lost");
    assert(!await store.release(robbed), "not its own any more");
    assertEquals(await store.renew(by), "renewed");
  }
  assert(await store.release(next), "released");
});

testOnServer("attempt() of another handle does not shorten the owner's lease", async ({ server, client }) => {
  const store = redis(tested(client));
  for (const kind of ["exclusive", "shared"] as const) {
    const [long, short] = [claimOf("a", kind, LONG, "me"), claimOf("a", kind, SHORT, "me")];
    const fence = await grant(store, long);
    assertEquals(await grant(store, short), fence);
    assert(await client.pttl("lock:a") > LONG / 2, "the lease is as long as it was");
    await until(async () => (await store.query!()).held.length === 1, "the lease of the second one has ended");
    assertEquals(await store.renew(short), "lost");
    assert(!await store.release(short), "it is held no more");
    // What is left has the fence still.
    assertEquals(await grant(store, short), fence);
    await until(async () => (await store.query!()).held.length === 1, "it has ended again");
    assert(await store.release(long), "released");
    assertEquals(await server.leftovers(), []);
  }
});

testClean("attempt() keeps an owner's fence until its last handle is released", async ({ client }) => {
  const store = redis(tested(client));
  const mine = () => claimOf("a", "shared", LONG, "me");
  const [first, second, third, brief] = [mine(), mine(), mine(), claimOf("a", "shared", SHORT, "brief")];
  const fence = await grant(store, first);
  const others = [claimOf("a", "shared"), claimOf("a", "shared", LONG, "you")];
  for (const other of others) assert(await grant(store, other) > fence, "a fence of its own");
  const briefly = await grant(store, brief);
  assertEquals(await grant(store, second), fence);
  await store.release(first);
  assertEquals(await grant(store, first), fence);
  for (const claim of [first, second]) await store.release(claim);
  const next = await grant(store, third);
  assert(next > briefly, "a new fence");
  await until(async () => (await store.query!()).held.length === 3, "the brief one has ended");
  assert(await grant(store, { ...brief, lease: LONG }) > next, "a new fence");
  for (const claim of [third, brief, ...others]) assert(await store.release(claim), "released");
});

testClean("attempt() is refused while its owner still has an exclusive handle", async ({ server }) => {
  const store = redis(tested(server.connect()));
  for (const kind of ["shared", 2] as const) {
    for (const lease of [LONG / 2, 2 * LONG]) {
      const [exclusive, first, second] = [
        claimOf("a", "exclusive", lease, "me"),
        claimOf("a", kind, LONG, "me"),
        claimOf("a", kind, LONG, "me"),
      ];
      for (const claim of [exclusive, first, second]) await grant(store, claim);
      await store.release(first);
      assert(!(await store.attempt(claimOf("a", kind), { enqueue: false })).granted, "it is exclusive still");
      await store.release(exclusive);
      const other = claimOf("a", kind);
      await grant(store, other);
      for (const claim of [second, other]) assert(await store.release(claim), "released");
    }
  }
});

testClean("attempt() that finds an owner's exclusive handle ended keeps the lock's end", async ({ client }) => {
  const store = redis(tested(client));
  const [brief, shared] = [claimOf("a", "exclusive", SHORT, "me"), claimOf("a", "shared", LONG, "me")];
  for (const claim of [brief, shared]) await grant(store, claim);
  await until(async () => (await store.query!()).held.length === 1, "the exclusive one has ended");
  await ask(store, claimOf("a"), false);
  assertEquals(await client.get("lock:a"), ":shared");
  const left = await client.pttl("lock:a");
  assert(left > 0 && left <= LONG, `${left} ms`);
  assert(await store.release(shared), "released");
});

testClean("an owner counts once among the permits", async ({ client }) => {
  const store = redis(tested(client));
  const mine = () => claimOf("a", 3, LONG, "me");
  const [first, second, third, fourth] = [mine(), mine(), mine(), mine()];
  const fresh = [claimOf("a", 3), claimOf("a", 3)];
  const fences = new Set<bigint>();
  for (const claim of [first, second, fresh[0]!, third, fresh[1]!, fourth]) fences.add(await grant(store, claim));
  assertEquals(fences.size, 3);
  for (const claim of [claimOf("a", 3), claimOf("a", 3, LONG, "you")]) await ask(store, claim, false);
  const waiter = claimOf("a", 3);
  await ask(store, waiter);
  for (const claim of [first, second, third]) await store.release(claim);
  await ask(store, waiter);
  await store.release(fourth);
  await grant(store, waiter);
  for (const claim of [waiter, ...fresh]) assert(await store.release(claim), "released");
});

testOnServer("attempt() refuses an owner that would wait for itself, and does nothing", async ({ server, client }) => {
  const store = redis(tested(client));
  const cases = [["shared", "exclusive"], ["shared", 2], [2, "exclusive"], [2, "shared"], [2, 3]] as const;
  for (const [present, asked] of cases) {
    const holder = claimOf("a", present, LONG, "me");
    await grant(store, holder);
    for (const enqueue of [true, false]) {
      assertEquals(await clash(store, claimOf("a", asked, LONG, "me"), enqueue), { present, own: true });
    }
    assertEquals(await client.exists("{lock:a}:queue"), 0);
    assertEquals(await client.zcard(HOLDERS), 2);
    await store.release(holder);
    assertEquals(await server.leftovers(), []);
  }
  await using _shared = await acquire(tested(client), "a", { owner: "me", mode: "shared" });
  await assertRejects(() => acquire(tested(client), "a", { owner: "me" }), LockConflictError, '"me" itself');
  await assertRejects(() => tryAcquire(tested(client), "a", { owner: "me" }), LockConflictError, '"me" itself');
});

testOfMessages("acquire() of all waiting handles resolves once their owner holds the lock", async () => {
  await using server = await RedisServer.start();
  const [client, other] = [server.connect(), server.connect()];
  const holder = await acquire(tested(client), "a");
  const [handles, briefs]: [Promise<Lock | void>[], Promise<void>[]] = [[], []];
  for (const [i, from] of [client, other, client].entries()) {
    handles.push(acquireWoken(tested(from), "a", 30_000, { owner: "me" }));
    await until(async () => await client.zcard("{lock:a}:queue") === 2 * i + 1, "it is queued");
    // It gives up, or has its turn if the others are quicker.
    briefs.push(acquire(tested(client), "a", { wait: 1 }).then((lock) => lock.release(), () => {}));
    const rival = acquire(tested(other), "a", { wait: HANG_MS });
    handles.push(rival.then((lock) => lock.release()));
    await until(async () => await client.zcard("{lock:a}:queue") === 2 * i + 2, "so is a rival");
  }
  await holder.release();
  const mine = await Promise.all([handles[0], handles[2], handles[4]]);
  assertEquals(new Set(mine.map((lock) => lock?.fence)).size, 1);
  for (const lock of mine) await lock?.release();
  await Promise.all([...handles, ...briefs]);
  assertEquals(await server.leftovers(), []);
});

testClean("attempt() of a waiter is a conflict once its owner holds the lock otherwise", async ({ client }) => {
  const holder = await acquire(tested(client), "a");
  const shared = acquire(tested(client), "a", { owner: "me", mode: "shared" });
  await until(async () => await client.zcard("{lock:a}:queue") === 1, "it is queued");
  const exclusive = acquire(tested(client), "a", { owner: "me" });
  await until(async () => await client.zcard("{lock:a}:queue") === 2, "so is the other");
  const behind = acquire(tested(client), "a", { mode: "shared" });
  await until(async () => await client.zcard("{lock:a}:queue") === 3, "and a third");
  await holder.release();
  await assertRejects(() => exclusive, LockConflictError);
  // It has made way.
  for (const lock of await Promise.all([shared, behind])) await lock.release();
});
