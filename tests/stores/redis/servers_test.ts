import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, LockLostError } from "@holdfast/lock";
import { until } from "../../support/until.ts";
import { handOver } from "./clients/hand_over.ts";
import { acquireWoken } from "./wakeups/acquire_woken.ts";
import { RedisServer } from "../../support/redis_server.ts";
import { testClean, testOnServer } from "./on_server.ts";

/** Much longer than a test, in milliseconds, so that nobody is served because a lease has ended. */
const LEASE = 60_000;

Deno.test("acquire() is woken on each of two servers in one process", async () => {
  await using a = await RedisServer.start();
  await using b = await RedisServer.start();
  const pairs = [a, b].map((server) => [server.connect(), server.connect()] as const);
  // Twice: what a server's first handoff leaves must not keep the other's from working.
  for (let round = 0; round < 2; round++) {
    for (const [holder, waiter] of pairs) await handOver(holder, waiter);
    await Promise.all(pairs.map(([holder, waiter]) => handOver(waiter, holder)));
  }
  for (const server of [a, b]) assertEquals(await server.leftovers(), []);
});

testOnServer("acquire() locks and is woken in the database of its client", async ({ server }) => {
  const pairs = [0, 5].map((db) => [server.connect({ db }), server.connect({ db })] as const);
  const locks = await Promise.all(pairs.map(([client]) => acquire(client, "a", { lease: LEASE })));
  for (const [i, [, client]] of pairs.entries()) {
    assertEquals((await client.keys("*")).sort(), ["lock:a", "{lock:a}:fence"]);
    assertEquals(await client.get("lock:a"), locks[i]?.owner);
  }
  for (const lock of locks) await lock.release();
  for (const [holder, waiter] of pairs) await handOver(holder, waiter);
  await Promise.all(pairs.map(([holder, waiter]) => handOver(waiter, holder)));
  for (const [client] of pairs) assertEquals(await client.keys("*"), ["{lock:a}:fence"]);
});

testClean("acquire() is woken although the server has forgotten the scripts in the meantime", async ({ server }) => {
  const [holder, waiter] = [server.connect(), server.connect()];
  await handOver(holder, waiter, "a", () => holder.script("FLUSH"));
  const lock = await acquire(holder, "a", { lease: LEASE });
  await holder.script("FLUSH");
  await lock.extend();
  await holder.script("FLUSH");
  await lock.release();
});

testClean("acquire() is woken although the server has cut the connection for wake-ups", async ({ server }) => {
  const [holder, waiter] = [server.connect(), server.connect()];
  const cut = () => holder.call("CLIENT", "KILL", "TYPE", "pubsub");
  await handOver(holder, waiter);
  // While nobody waits, and while somebody does.
  await cut();
  await handOver(holder, waiter);
  await handOver(holder, waiter, "a", cut);
  await handOver(holder, waiter);
});

testClean("acquire() waits on when the server restarts without data, and is woken", async ({ server }) => {
  const [holder, waiter] = [server.connect(), server.connect()];
  const lock = await acquire(holder, "a", { lease: LEASE, renew: 100 });
  const waiting = acquireWoken(waiter, "a", LEASE);
  await until(async () => await holder.zcard("{lock:a}:queue") === 1, "the waiter is queued");
  await server.kill();
  await server.start();
  const next = await waiting;
  assert(next.fence > lock.fence);
  await until(() => lock.signal.aborted, "the holder knows that it has lost the lock");
  await assertRejects(() => lock.release(), LockLostError);
  assert(next.held);
  await next.release();
  await handOver(holder, waiter);
  await handOver(waiter, holder);
});
