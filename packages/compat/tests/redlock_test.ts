// Deno only: it starts servers.
import { assert, assertEquals, assertInstanceOf, assertRejects, assertThrows } from "@std/assert";
import { LockLostError, LockTimeoutError, tryAcquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import Redlock, { ExecutionError, type Lock, ResourceLockedError } from "@holdfast/compat/redlock";
import { RedisServer } from "../../../tests/support/redis_server.ts";
import { until } from "../../../tests/support/until.ts";
import { place } from "./place.ts";

/** Longer than any test. */
const LONG = 600_000;

/** Starts servers, and makes locks on them. */
async function scene(settings: ConstructorParameters<typeof Redlock>[1] = {}, count = 1) {
  const at = await place(count);
  return { ...at, locks: new Redlock(at.clients, settings) };
}

/** Returns the error of a call that fails. */
async function failure(call: Promise<unknown>): Promise<ExecutionError> {
  return await assertRejects(() => call, ExecutionError);
}

for (const count of [1, 3]) {
  const on = count === 1 ? "one server" : `${count} servers`;

  Deno.test(`Redlock on ${on} acquires, extends and releases a lock`, async () => {
    await using at = await scene({}, count);
    const before = Date.now();
    const lock = await at.locks.acquire(["{r}a"], LONG);
    await at.has("{r}a", lock.value);
    assert(lock.expiration > before + LONG - LONG / 50);
    assertEquals(await lock.extend(3 * LONG), lock);
    assert(lock.expiration > before + 2 * LONG);
    for (const client of at.clients) await until(async () => await client.pttl("{r}a") > 2 * LONG, "it is extended");
    await lock.release();
    assertEquals(lock.expiration, 0);
    await at.has("{r}a", undefined);
  });

  Deno.test(`Redlock on ${on} acquires, extends and releases several resources`, async () => {
    await using at = await scene({}, count);
    const lock = await at.locks.acquire(["{r}b", "{r}a", "{r}b"], LONG);
    assertEquals(lock.resources, ["{r}a", "{r}b"]);
    for (const key of lock.resources) {
      for (const client of at.clients) await until(async () => await client.exists(key) === 1, "it is held");
    }
    await lock.extend(3 * LONG);
    for (const client of at.clients) await until(async () => await client.pttl("{r}b") > 2 * LONG, "it is extended");
    await lock.release();
    for (const key of lock.resources) {
      await at.has(key, undefined);
    }
  });

  Deno.test(`Redlock on ${on} rejects with ResourceLockedError while a resource is held`, async () => {
    await using at = await scene({ retryCount: 1, retryDelay: 50 }, count);
    await using lock = await at.locks.acquire(["a"], LONG);
    const error = await failure(at.locks.acquire(["a"], LONG));
    assertInstanceOf(error.cause, LockTimeoutError);
    const [stats] = await Promise.all(error.attempts);
    assertEquals([stats?.membershipSize, stats?.quorumSize, stats?.votesFor.size], [count, count === 1 ? 1 : 2, 0]);
    const against = [...stats!.votesAgainst.values()];
    assertEquals(against.map((each) => each instanceof ResourceLockedError), Array(count).fill(true));
    await at.has("a", lock.value);
  });

  Deno.test(`Redlock on ${on} excludes locks whose resources overlap`, async () => {
    await using at = await scene({ retryCount: 0 }, count);
    await using lock = await at.locks.acquire(["a", "b"], LONG);
    await failure(at.locks.acquire(["b", "c"], LONG));
    assertEquals(lock.fences.size, 2);
    await at.has("c", undefined);
  });

  Deno.test(`Redlock on ${on} grants a lock once it has expired`, async () => {
    // The answers may take longer than so short a lease allows.
    await using at = await scene({ retryCount: -1 }, count);
    const lock = await at.locks.acquire(["a"], 300);
    await using second = await at.locks.acquire(["a"], LONG);
    assert(second.fence > lock.fence);
    assert(lock.signal.aborted);
  });

  Deno.test(`Redlock on ${on} refuses a resource whose key belongs to another lock`, async () => {
    await using at = await scene({}, count);
    await using lock = await at.locks.acquire(["job"], LONG);
    for (const part of ["queue", "waiters", "holders", "grants", "fence"]) {
      const { message } = await failure(at.locks.acquire([`{job}:${part}`], LONG));
      assert(message.includes(`the key "{job}:${part}" belongs to the lock "job": choose another name`), message);
      await failure(at.locks.acquire([`{job}:${part}`, "other"], LONG));
    }
    await lock.extend(LONG);
    await at.has("other", undefined);
  });

  Deno.test(`Redlock.using() on ${on} renews its lock and releases it`, async () => {
    await using at = await scene({}, count);
    const settings = { retryCount: -1, automaticExtensionThreshold: 100 };
    const hold = () =>
      at.locks.using(["a"], 4_000, settings, async (signal, { lock }) => {
        const before = lock.signal;
        await new Promise((resolve) => setTimeout(resolve, 4_500));
        assertEquals([signal.aborted, signal.error, before.aborted], [false, undefined, false]);
        await at.has("a", lock.value);
        return lock;
      });
    // A slow machine may hold up the renewals for as long as the lease.
    const held = await hold().catch(hold).catch(hold);
    assertEquals([typeof held.value, held.expiration], ["string", 0]);
    await at.has("a", undefined);
  });
}

Deno.test("Redlock's keys hold the value of the lock, and on 3 servers a UUID behind it", async () => {
  await using at = await place();
  const lock = await new Redlock(at.clients).acquire(["a"], LONG);
  assertEquals(await at.clients[0]!.get("a"), lock.value);
  await lock.extend(LONG);
  assertEquals(await at.clients[0]!.get("a"), lock.value);
  await lock.extend(2 * LONG);
  assertEquals(await at.clients[0]!.get("a"), `:exclusive#1 ${lock.value}`);
  await lock.release();
  await using three = await place(3);
  await using voted = await new Redlock(three.clients).acquire(["a"], LONG);
  await three.has("a", voted.value);
  const uuid = (await three.clients[0]!.get("a"))?.slice(`${voted.value}:`.length);
  assertEquals(uuid?.length, 36);
});

Deno.test("Redlock rejects with as many attempts as its retries allow, and one", async () => {
  await using at = await place();
  await using _lock = await new Redlock(at.clients).acquire(["a"], LONG);
  const locks = new Redlock(at.clients, { retryCount: 3, retryDelay: 10 });
  const error = await failure(locks.acquire(["a"], LONG));
  assertEquals([error.attempts.length, error.message], [
    4,
    'Cannot acquire lock "a" in 4 attempts: held by another owner',
  ]);
  const patient = new Redlock(at.clients, { retryCount: 1_000, retryDelay: 10 });
  const acquiring = patient.acquire(["b"], LONG);
  assertEquals((await acquiring).attempts.length, 1);
  await (await acquiring).release();
});

Deno.test("Redlock repeats an attempt that a client has failed, and tells the error", async () => {
  await using at = await place();
  const [client] = at.clients;
  const locks = new Redlock(at.clients, { retryCount: 3, retryDelay: 10 });
  const errors: string[] = [];
  locks.on("error", ({ message }) => errors.push(message));
  client!.evalsha = () => {
    Reflect.deleteProperty(client!, "evalsha");
    return Promise.reject(new Error("the connection was cut"));
  };
  await using lock = await locks.acquire(["a"], LONG);
  const stats = await Promise.all(lock.attempts);
  const votes = stats.map(({ votesAgainst }) => votesAgainst.get(client!)?.message);
  assertEquals([errors, votes], [["the connection was cut"], ["the connection was cut", undefined]]);
});

Deno.test("Redlock names the error of a server that does not answer", async () => {
  await using at = await scene({ retryCount: 0, nodeTimeout: 50 }, 3);
  await using warm = await new Redlock(at.clients).acquire(["b"], LONG);
  // On each server: a client that is still connecting would say so, and its vote would not be answered either.
  await at.has("b", warm.value);
  for (const client of at.clients) client.evalsha = () => new Promise(() => {});
  const error = await failure(at.locks.acquire(["a"], LONG));
  for (const client of at.clients) Reflect.deleteProperty(client, "evalsha");
  const [stats] = await Promise.all(error.attempts);
  assertEquals(
    [...stats!.votesAgainst.values()].map(({ message }) => message),
    Array(3).fill("no answer within 50 ms"),
  );
});

Deno.test("Redlock waits in the queue, first come, first served", async () => {
  await using at = await place();
  const first = await new Redlock(at.clients).acquire(["a"], LONG);
  const order: number[] = [];
  const waiting: Promise<void>[] = [];
  for (const turn of [1, 2, 3]) {
    const locks = new Redlock(at.clients, { retryCount: -1 });
    waiting.push(locks.using(["a"], LONG, () => void order.push(turn)));
    await until(async () => await at.clients[0]!.zcard("{a}:queue") === turn, "it is queued");
  }
  await first.release();
  await Promise.all(waiting);
  assertEquals(order, [1, 2, 3]);
});

Deno.test("Redlock.using() runs one routine at a time", async () => {
  await using at = await scene({ retryCount: -1 });
  let running = 0;
  const values = await Promise.all([1, 2, 3].map(() =>
    at.locks.using(["a"], LONG, async (_, { lock }) => {
      assertEquals(++running, 1);
      await new Promise((resolve) => setTimeout(resolve, 20));
      running--;
      return lock.value;
    })
  ));
  assertEquals(new Set(values).size, 3);
});

const CALLS: Record<string, (locks: Redlock) => Promise<unknown>> = {
  acquire: (locks) => locks.acquire(["a"], LONG),
  using: (locks) => locks.using(["a"], LONG, () => Promise.resolve()),
  lock: (locks) => locks.lock("a", LONG),
};

for (const [method, call] of Object.entries(CALLS)) {
  Deno.test(`Redlock.${method}() waits by the settings of the constructor`, async () => {
    await using at = await place();
    await using held = await new Redlock(at.clients).acquire(["a"], LONG);
    const stop = new AbortController();
    const rejects = assertRejects(() => call(new Redlock(at.clients, { retryCount: -1, signal: stop.signal })), Error);
    await until(async () => await at.clients[0]!.zcard("{a}:queue") === 1, "it is queued");
    stop.abort(new Error("stopped"));
    assertEquals(await rejects, stop.signal.reason);
    await at.has("a", held.value);
  });
}

Deno.test("Redlock.using() aborts its signal, and rejects, when the lock is lost", async () => {
  await using at = await scene();
  const error = await failure(at.locks.using(["a"], 300, async (signal) => {
    await at.clients[0]!.del("a");
    await until(() => signal.aborted, "the loss is noticed");
    assertInstanceOf(signal.error, LockLostError);
  }));
  assertInstanceOf(error.cause, LockLostError);
});

Deno.test("Redlock.using() rejects with the error of the routine, also after a loss", async () => {
  await using at = await scene();
  const mine = new Error("mine");
  const thrown = await assertRejects(() =>
    at.locks.using(["a"], 300, async () => {
      await at.clients[0]!.del("a");
      throw mine;
    }), Error);
  assertEquals(thrown, mine);
});

Deno.test("Lock.release() and Lock.extend() reject at once after a loss", async () => {
  await using at = await scene({ retryCount: 1_000, retryDelay: 60_000 });
  const [a, b] = [await at.locks.acquire(["a"], LONG), await at.locks.acquire(["b"], LONG)];
  await at.clients[0]!.del("a", "b");
  for (const error of [await failure(a.release()), await failure(b.extend(LONG))]) {
    assertInstanceOf(error.cause, LockLostError);
    assertEquals(error.attempts, []);
  }
});

Deno.test("Lock.release() and Lock.extend() reject once it was released", async () => {
  await using at = await scene();
  const lock = await at.locks.acquire(["a"], LONG);
  assertEquals((await Promise.all((await lock.release()).attempts)).map(({ votesFor }) => votesFor.size), [1]);
  for (const call of [lock.release(), at.locks.release(lock), lock.extend(LONG), at.locks.extend(lock, LONG)]) {
    assertEquals((await failure(call)).attempts, []);
  }
  await lock[Symbol.asyncDispose]();
});

Deno.test("Redlock.acquire() ends its wait when its signal aborts", async () => {
  await using at = await scene({ retryCount: -1 });
  await using _lock = await at.locks.acquire(["a"], LONG);
  const controller = new AbortController();
  const waiting = at.locks.acquire(["a"], LONG, { signal: controller.signal });
  await until(async () => await at.clients[0]!.zcard("{a}:queue") === 1, "it waits");
  controller.abort(new Error("enough"));
  await assertRejects(() => waiting, Error, "enough");
});

Deno.test("Redlock succeeds while a minority of the servers refuses", async () => {
  await using at = await scene({}, 3);
  await at.clients[2]!.set("a", "other");
  const lock = await at.locks.acquire(["a"], LONG);
  await lock.extend(3 * LONG);
  assertEquals(await at.clients[2]!.get("a"), "other");
  await lock.release();
  assertEquals(await at.clients[2]!.getdel("a"), "other");
});

Deno.test("Redlock fails while a majority of the servers refuses", async () => {
  await using at = await scene({ retryCount: 1 }, 3);
  for (const client of at.clients.slice(1)) await client.set("a", "other");
  await failure(at.locks.acquire(["a"], LONG));
  await until(async () => await at.clients[0]!.exists("a") === 0, "the minority is free");
  assertEquals(await Promise.all(at.clients.slice(1).map((client) => client.get("a"))), ["other", "other"]);
  for (const client of at.clients.slice(1)) await client.del("a");
});

Deno.test("Redlock rejects with the error of a server that cannot be reached", async () => {
  await using server = await RedisServer.start();
  const client = server.connect({ retryStrategy: () => null, maxRetriesPerRequest: 0 });
  await client.ping();
  await server.kill();
  const locks = new Redlock([client], { retryCount: 2 });
  const errors: Error[] = [];
  locks.on("error", (error) => errors.push(error));
  const error = await failure(locks.acquire(["a"], LONG));
  const [stats] = await Promise.all(error.attempts);
  const vote = stats?.votesAgainst.get(client);
  assert(vote instanceof Error && !(vote instanceof ResourceLockedError), `${vote}`);
  assertEquals(stats?.votesFor.size, 0);
  assert(errors.length > 0 && errors.every((each) => !(each instanceof ResourceLockedError)));
});

Deno.test("Redlock emits error and clientError, which need no listener", async () => {
  await using at = await scene({ retryCount: 0 });
  await at.clients[0]!.sadd("set", "member");
  await failure(at.locks.acquire(["set"], LONG));
  const events: string[] = [];
  const listener = () => void events.push("error");
  at.locks.on("error", listener).once("clientError", () => events.push("clientError"));
  await failure(at.locks.acquire(["set"], LONG));
  assertEquals(events, ["error", "clientError"]);
  at.locks.removeListener("error", listener);
  assertEquals([at.locks.listenerCount("error"), at.locks.listenerCount("clientError")], [0, 0]);
  await at.clients[0]!.del("set");
});

Deno.test("Redlock emits ResourceLockedError when a lock stays busy", async () => {
  await using at = await scene({ retryCount: 0 });
  const errors: Error[] = [];
  at.locks.addListener("error", (error) => errors.push(error));
  await using _lock = await at.locks.acquire(["a"], LONG);
  await failure(at.locks.acquire(["a"], LONG));
  assertEquals(errors.map(({ name }) => name), ["ResourceLockedError"]);
});

Deno.test("Redlock checks its arguments", async () => {
  await using at = await scene();
  assertThrows(() => new Redlock([]), RangeError, "clients");
  assertThrows(() => new Redlock(at.clients, { retryCount: "3" as unknown as number }), TypeError, "retryCount");
  assertThrows(() => new Redlock(at.clients, {}, { acquireScript: "" } as never), TypeError, "scripts");
  await assertRejects(() => at.locks.acquire(["a"], 1.5), RangeError, "duration");
  await assertRejects(() => at.locks.using(["a"], LONG, undefined as never), TypeError, "routine must be a function");
  await assertRejects(() => at.locks.acquire(["a"], LONG, { retryCount: "3" as never }), TypeError, "retryCount");
  const none = undefined as never;
  for (const call of [() => at.locks.release(none), () => at.locks.unlock(none), () => at.locks.extend(none, LONG)]) {
    await assertRejects(call, TypeError, "lock must be");
  }
});

Deno.test("Redlock.lock() and Lock.unlock() call back in the manner of redlock 4", async () => {
  await using at = await scene({ retryCount: 0 });
  const lock = await new Promise<Lock>((resolve, reject) => {
    at.locks.lock("a", LONG, (error, lock) => error === null ? resolve(lock!) : reject(error));
  });
  assertInstanceOf(lock, Redlock.Lock);
  assertEquals(lock.resource, ["a"]);
  const busy = await new Promise((resolve) =>
    at.locks.lockWithOptions("a", LONG, {}, (error) => resolve(error)).catch(() => {})
  );
  assertInstanceOf(busy, Redlock.LockError);
  assertEquals(await new Promise((resolve) => lock.extend(LONG, (error, same) => resolve([error, same]))), [
    null,
    lock,
  ]);
  assertEquals(await new Promise((resolve) => lock.unlock((error) => resolve(error))), null);
  assertInstanceOf(await new Promise((resolve) => lock.unlock((error) => resolve(error))), ExecutionError);
});

Deno.test("Redlock.lock() and Redlock.unlock() return promises", async () => {
  await using at = await scene();
  const lock = await at.locks.lock(["a", "b"], LONG);
  await at.locks.extend(lock, LONG);
  await at.locks.unlock(lock);
  await failure(at.locks.unlock(lock));
  assertEquals(await at.clients[0]!.exists("a", "b"), 0);
});

Deno.test("Redlock.acquire(), acquireWithOptions() and release() call back, too", async () => {
  await using at = await scene({ retryCount: 0 });
  const lock = await new Promise<Lock>((resolve, reject) => {
    at.locks.acquire("a", LONG, (error, lock) => error === null ? resolve(lock!) : reject(error));
  });
  // Nobody handles the promises: a rejection of them would fail the test.
  for (
    const call of [
      () => new Promise((resolve) => void at.locks.acquire("a", LONG, resolve)),
      () => new Promise((resolve) => void at.locks.acquireWithOptions("a", LONG, {}, resolve)),
    ]
  ) assertInstanceOf(await call(), Redlock.LockError);
  assertEquals(await new Promise((resolve) => at.locks.release(lock, (error) => resolve(error))), null);
  assertInstanceOf(await new Promise((resolve) => at.locks.release(lock, (error) => resolve(error))), ExecutionError);
});

Deno.test("Redlock.quit() ends the clients", async () => {
  await using at = await place();
  await new Redlock(at.clients).quit();
  await until(() => at.clients[0]!.status === "end", "the client has ended");
});

Deno.test("Lock.expiration is earlier with a larger driftFactor", async () => {
  await using at = await scene({ driftFactor: 0.5 });
  const before = Date.now();
  await using lock = await at.locks.acquire(["a"], 100_000);
  assert(lock.expiration <= Date.now() + 50_000 && lock.expiration > before + 40_000);
  await using own = await at.locks.acquire(["b"], 100_000, { driftFactor: 0.2 });
  assert(own.expiration > before + 60_000, "the settings of the call count");
});

Deno.test("Redlock and acquire() with an empty prefix exclude each other", async () => {
  await using at = await place();
  const store = redis(at.clients[0]!, { prefix: "" });
  const lock = await new Redlock(at.clients).acquire(["a"], LONG);
  assertEquals(await tryAcquire(store, "a"), null);
  await lock.release();
  await using _mine = await tryAcquire(store, "a");
  await failure(new Redlock(at.clients, { retryCount: 0 }).acquire(["a"], LONG));
});
