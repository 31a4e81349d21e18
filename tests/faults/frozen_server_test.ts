// Deno only: it measures milliseconds, for which a machine that runs five runtimes at once is too busy.
import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { deadline, delay } from "@std/async";
import { acquire, type Lock, LockLostError, StoreError, tryAcquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import { RedisServer } from "../support/redis_server.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import { HANG_MS, until } from "../support/until.ts";

/** Much longer than a test, in milliseconds, so that a lock that stays held is noticed. */
const LEASE = 60_000;

/** By how much a timer is late at the most on a machine that is not busy, in milliseconds. */
const LATE = 5;

Deno.test("Lock.signal aborts before a frozen server could give the lock away", async () => {
  await using server = await RedisServer.start();
  const [client, other] = [server.connect(), server.connect()];
  await Promise.all([client.ping(), other.ping()]);
  const lease = 6_000;
  const store = redis(client);
  const [attempt, renew] = [store.attempt.bind(store), store.renew.bind(store)];
  /** When each lock could be given away, by the last request of its holder that was answered. */
  const due = new Map<string, number>();
  const noted = async <T>(name: string, request: () => Promise<T>): Promise<T> => {
    // The server's lease does not begin before the request is sent.
    const sentAt = performance.now();
    const answer = await request();
    due.set(name, sentAt + lease);
    return answer;
  };
  store.attempt = (claim, options) => noted(claim.name, () => attempt(claim, options));
  store.renew = (claim) => noted(claim.name, () => renew(claim));
  const started = performance.now();
  const locks = [await acquire(store, "a", { lease }), await acquire(store, "b", { lease, renew: false })];
  server.freeze();
  // Not read from the lock again: its getters look at the clock themselves.
  const signals = locks.map((lock) => lock.signal);
  const aborts: number[] = [];
  for (const signal of signals) signal.addEventListener("abort", () => aborts.push(performance.now() - started));
  await Promise.all(signals.map(async (signal, i) => {
    const { name } = locks[i]!;
    const late = () => performance.now() - due.get(name)!;
    // The answer to a renewal may still come.
    while (late() < 0) await delay(-late());
    // A lease whose own timer is late looks for unread answers first.
    if (late() > LATE) await until(() => signal.aborted, `the holder of ${name} gets to know`);
    assert(signal.aborted, `the holder of ${name} knows`);
  }));
  assertEquals(aborts.length, locks.length);
  for (const after of aborts) assert(after >= lease / 2, `aborted after ${after} ms of ${lease}`);
  for (const lock of locks) {
    assertInstanceOf(lock.signal.reason, LockLostError);
    assert(!lock.held);
    // The server is frozen: release() does not wait for it.
    await assertRejects(() => lock.release(), LockLostError);
  }
  server.thaw();
  for (const { name, fence } of locks) {
    const next = await acquire(other, name, { wait: LEASE });
    assert(next.fence > fence);
    await next.release();
  }
});

Deno.test("acquire() and tryAcquire() settle in time, with nothing, on a frozen server", async () => {
  await using server = await RedisServer.start();
  const [client, other] = [server.connect(), server.connect()];
  await Promise.all([client.ping(), other.ping()]);
  const holder = await acquire(other, "queued", { lease: LEASE, renew: false });
  const abort = new AbortController();
  const queued = acquire(client, "queued", { lease: LEASE, signal: abort.signal });
  await until(async () => await other.zcard("{lock:queued}:queue") === 1, "the waiter is queued");

  server.freeze();
  let answered = false;
  const answer = client.ping().then(() => answered = true);
  const connecting = server.connect();
  const started = performance.now();
  const reason = new Error("enough");
  setTimeout(() => abort.abort(reason), 500);
  const signal = abort.signal;
  const calls: Record<string, Promise<Lock | null>> = {
    queued,
    waited: acquire(client, "waited", { lease: LEASE, wait: 500 }),
    aborted: acquire(client, "aborted", { lease: LEASE, signal }),
    tried: tryAcquire(client, "tried", { lease: LEASE, signal }),
    "waited while connecting": acquire(connecting, "waited while connecting", { lease: LEASE, wait: 500 }),
    "tried while connecting": tryAcquire(connecting, "tried while connecting", { lease: LEASE, signal }),
  };
  await Promise.all(
    Object.entries(calls).map(async ([name, call]) => {
      const error = await deadline(call, LEASE).catch((error: unknown) => error);
      const after = performance.now() - started;
      if (name.startsWith("waited")) assertInstanceOf(error, StoreError, "nobody is known to hold it");
      else assert(error === reason, `${name}: ${error}`);
      // A first attempt is given 10 s, whatever wait is; the signal ends it sooner.
      const due = name.startsWith("waited") ? 10_000 : 500;
      assert(after >= due - 10, `${name} settled after ${after} ms`);
    }),
  );
  assert(!answered, "the server is frozen");

  server.thaw();
  await answer;
  await holder.release();
  for (const name of Object.keys(calls)) {
    const next = await acquire(other, name, { wait: LEASE / 3 });
    await next.release();
  }
  await until(async () => (await server.leftovers()).length === 0, "nothing is left");
});

// ioredis 5 leaves a timer of that time behind when a connection fails.
const giveUp = { retryStrategy: (times: number) => times < 3 ? 20 : null, disconnectTimeout: 1 };
const clients = {
  "5": (port: number) => new Redis5(port, "127.0.0.1", giveUp),
  "6": (port: number) => new Redis(port, "127.0.0.1", giveUp),
};

for (const [version, connect] of Object.entries(clients)) {
  Deno.test(`acquire() and tryAcquire() reject when the client times out (ioredis ${version})`, async () => {
    await using server = await RedisServer.start();
    // It takes the connections that the client makes after that, and cannot pass anything on.
    await using proxy = await TcpProxy.start(server.port);
    const client = server.adopt(connect(proxy.port));
    await client.ping();
    server.freeze();
    const calls = [acquire(client, "a"), acquire(client, "b", { wait: 2 * LEASE }), tryAcquire(client, "c")];
    const errors = calls.map((call) => deadline(call, HANG_MS).catch((error: unknown) => error));
    await server.kill();
    for (const error of await Promise.all(errors)) assertInstanceOf(error, StoreError);
  });
}
