import { assert, assertEquals, assertInstanceOf, assertRejects, assertThrows } from "@std/assert";
import { acquire, type LockEvent, QuorumError, tryAcquire } from "@holdfast/lock";
import { etcd } from "@holdfast/lock/etcd";
import { redis } from "@holdfast/lock/redis";
import { redlock, type RedlockOptions } from "@holdfast/lock/redlock";
import { Redis } from "ioredis";
import { storeOf } from "../../src/lock/target.ts";
import { Masters } from "../support/masters.ts";
import { until } from "../support/until.ts";

/** A client that never connects: bad input is refused before anything is sent. */
function idle(): Redis {
  return new Redis({ lazyConnect: true });
}

Deno.test("redlock() throws unless it gets a list of clients and stores", () => {
  const [client, store] = [idle(), redis(idle())];
  // Callers without types.
  const make = redlock as (nodes?: unknown) => unknown;
  for (const nodes of [undefined, null, client, "127.0.0.1:6379", new Set([client]), { 0: client, length: 1 }]) {
    assertThrows(() => make(nodes), TypeError, "array");
  }
  for (const node of [undefined, null, 6379, "127.0.0.1:6379", {}, [client], () => client]) {
    assertThrows(() => make([client, node]), TypeError);
  }
  const documents = etcd({ endpoints: ["http://127.0.0.1:1"] });
  assertThrows(() => make([client, documents]), TypeError, "nodes must be Redis clients or stores of redis()");
  assertThrows(() => make([client, client]), TypeError, "twice");
  assertThrows(() => make([store, idle(), store]), TypeError, "twice");
});

Deno.test("redlock() takes 1 to 9 nodes", () => {
  assertThrows(() => redlock([]), RangeError, "0");
  assertThrows(() => redlock(Array.from({ length: 10 }, idle)), RangeError, "10");
  for (let n = 1; n <= 9; n++) redlock(Array.from({ length: n }, idle));
});

Deno.test("redlock() refuses bad options", () => {
  const make = (options: unknown) => redlock([idle()], options as RedlockOptions);
  for (const options of [{ nodeTimeOut: 100 }, { lease: 1_000 }, { prefix: "a:" }, 100, null]) {
    assertThrows(() => make(options), TypeError);
  }
  for (const value of ["100", null, 100n, {}]) {
    assertThrows(() => make({ nodeTimeout: value }), TypeError, "nodeTimeout");
    assertThrows(() => make({ maxClockSkew: value }), TypeError, "maxClockSkew");
  }
  for (const value of [0, -1, NaN, Infinity, 2 ** 31]) {
    assertThrows(() => make({ nodeTimeout: value }), RangeError, "nodeTimeout");
  }
  for (const value of [-1, NaN, Infinity, 2 ** 31]) {
    assertThrows(() => make({ maxClockSkew: value }), RangeError, "maxClockSkew");
  }
  for (const value of [-0.01, 1, 1.5, NaN, Infinity]) {
    assertThrows(() => make({ driftFactor: value }), RangeError, "driftFactor");
  }
  for (const value of ["0.01", null, {}]) assertThrows(() => make({ driftFactor: value }), TypeError, "driftFactor");
  assertThrows(() => make({ observer: "console" }), TypeError, "observer");
});

Deno.test("redlock() takes options at their limits", () => {
  const store = redlock([idle()], { nodeTimeout: 1, maxClockSkew: 0, driftFactor: 0 });
  assertEquals(store.drift(1_000), 2);
  assertEquals(redlock([idle()], { nodeTimeout: undefined, driftFactor: 0.1 }).drift(1_000), 102);
  assertEquals(redlock([idle()]).drift(1_000), 12);
});

Deno.test("acquire() rejects a list that is no quorum", async () => {
  const client = idle();
  await assertRejects(() => acquire([], "a"), RangeError);
  await assertRejects(() => acquire(Array.from({ length: 10 }, idle), "a"), RangeError);
  await assertRejects(() => acquire([client, client, idle()], "a"), TypeError, "twice");
  for (const bad of [undefined, null, 6379, {}]) {
    await assertRejects(() => acquire([client, bad as unknown as Redis], "a"), TypeError, "client");
  }
});

Deno.test("acquire() holds the lock on a majority of a list of clients", async () => {
  await using masters = await Masters.start(3);
  const clients = await masters.connect();
  let fence = 0n;
  {
    await using lock = await acquire(clients, "a");
    assert(lock.held);
    fence = lock.fence;
    const owners = await Promise.all(clients.map((client) => client.get("lock:a")));
    assert(owners.filter((owner) => owner !== null).length >= 2);
    assertEquals(await tryAcquire(clients, "a"), null);
    assertEquals(await tryAcquire(await masters.connect(), "a"), null, "other clients of the same servers");
  }
  await using again = await acquire(clients, "a");
  assert(again.fence > fence);
});

Deno.test("acquire() makes one store of one list of clients", async () => {
  const clients = [idle(), idle(), idle()];
  // At the same time, while the first of them is being made, and later.
  const stores = await Promise.all([storeOf(clients), storeOf(clients), storeOf([...clients])]);
  stores.push(await storeOf(clients), await storeOf([...clients]));
  assertEquals(new Set(stores).size, 1);
  // The place of a node in the list is its place in the order of coordinators.
  assert(await storeOf(clients.toReversed()) !== stores[0]);
  assert(await storeOf(clients.slice(0, 2)) !== stores[0]);
  assertEquals(await storeOf(clients.slice(0, 2)), await storeOf(clients.slice(0, 2)));
  // A list that is changed by its owner later is another one.
  const list = [...clients];
  await storeOf(list);
  list.pop();
  assert(await storeOf(list) !== stores[0]);
});

Deno.test("redlock() uses the prefixes of its stores, and notifies its observer", async () => {
  await using masters = await Masters.start(3);
  const clients = await masters.connect();
  const events: LockEvent[] = [];
  const store = redlock(clients.map((client) => redis(client, { prefix: "billing:" })), {
    // Long: that a node is slow would be a fault.
    nodeTimeout: 10_000,
    observer: (event) => void events.push(event),
  });
  {
    await using _lock = await acquire(store, "a");
    assert((await Promise.all(clients.map((client) => client.exists("billing:a")))).filter(Boolean).length >= 2);
    assertEquals(await Promise.all(clients.map((client) => client.exists("lock:a"))), [0, 0, 0]);
  }
  assertEquals(events.map(({ type }) => type), ["acquired", "released"]);
});

Deno.test("acquire() succeeds although the event loop is busy for a node time-out", async () => {
  await using masters = await Masters.start(3);
  const store = redlock(await masters.nodes(), { nodeTimeout: 20 });
  await (await acquire(store, "warm")).release();
  let granted = 0;
  for (let i = 0; granted < 5; i++) {
    assert(i < 50, `granted ${granted} times`);
    const acquired = tryAcquire(store, `a ${i}`).catch(() => null);
    // A worker of workerd may compute for so long, but not wait.
    const until = performance.now() + 60;
    while (performance.now() < until);
    // The servers may be slower than that.
    const lock = await acquired;
    if (lock === null) continue;
    assert(lock.held);
    granted++;
    await lock.release();
  }
});

Deno.test("acquire() of 1,000 locks at once succeeds for each of them", async () => {
  await using masters = await Masters.start(3);
  const store = redlock(await masters.nodes());
  const locks = await Promise.all(Array.from({ length: 1_000 }, (_, i) => acquire(store, `a ${i}`)));
  await Promise.all(locks.map((lock) => lock.release()));
});

Deno.test("acquire() restores its lock on servers that were flushed and asked meanwhile", async () => {
  await using masters = await Masters.start(3);
  const [clients, others] = [await masters.connect(), await masters.nodes()];
  await using lock = await acquire(redlock(await masters.nodes()), "a", { lease: 5_000, renew: 20 });
  for (const [place, client] of clients.entries()) {
    await client.flushall();
    const rival = { name: "a", owner: `rival ${place}`, mode: "exclusive", lease: 5_000 } as const;
    const guess = lock.fence + BigInt(place) + 1n;
    await others[place]!.vote(rival, { enqueue: false, guess, maxClockSkew: 10_000 });
    await others[place]!.release(rival);
    await until(async () => (await client.get("lock:a"))?.startsWith(`${lock.owner}:`) === true, "it is held again");
    assert(BigInt((await client.get("{lock:a}:fence"))?.split("\0")[0] ?? 0) >= lock.fence);
  }
  assert(lock.held);
});

Deno.test("QuorumError names each node that failed, where it is and why", async () => {
  await using masters = await Masters.start(1);
  const [live] = await masters.connect();
  // Nobody listens there, and no other test can.
  const ports = [1, 2];
  const down = ports.map((port) => {
    const client = new Redis(port, "127.0.0.1", { lazyConnect: true, retryStrategy: () => null });
    client.on("error", () => {});
    return client;
  });
  for (const target of [[down[0]!, live!, down[1]!], redlock([down[0]!, live!, down[1]!])]) {
    const error = await assertRejects(() => tryAcquire(target, "a"), QuorumError);
    assertEquals(error.code, "quorum");
    assertEquals(error.failures.map(({ index }) => index), [0, 2]);
    assertEquals(error.failures.map(({ address }) => address), ports.map((port) => `127.0.0.1:${port}`));
    for (const { index, address, error: reason } of error.failures) {
      assertInstanceOf(reason, Error);
      assert(error.message.includes(`node ${index} (${address}): ${reason.message}`), error.message);
    }
  }
});
