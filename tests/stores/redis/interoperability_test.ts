import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { acquire, isLockLost, LockLostError, tryAcquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { FOREIGN_POLL_MS } from "../../../src/stores/redis/constants.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { RedisServer } from "../../support/redis_server.ts";
import { testClean, testOnServer } from "./on_server.ts";

testClean("acquire() is excluded by a plain SET NX PX until that expires or is deleted", async ({ server }) => {
  const [client, rival] = [server.connect(), server.connect()];
  const lease = 1_000;
  assertEquals(await rival.set("lock:expires", "rival", "PX", 60_000, "NX"), "OK");
  assertEquals(await rival.set("lock:deleted", "rival", "PX", 60_000, "NX"), "OK");
  // Some set no expiry at all.
  assertEquals(await rival.set("lock:endless", "rival", "NX"), "OK");
  const names = ["expires", "deleted", "endless"];
  for (const name of names) assertEquals(await tryAcquire(client, name), null);
  const waiting = names.map((name) => acquire(client, name, { wait: HANG_MS }));
  for (const name of names) {
    await until(async () => await rival.zcard(`{lock:${name}}:queue`) === 1, "the waiter is queued");
    assertEquals(await rival.get(`lock:${name}`), "rival");
  }
  await rival.del("lock:deleted", "lock:endless");
  const setAt = performance.now();
  await rival.pexpire("lock:expires", lease);

  const expired = await waiting[0]!;
  const after = performance.now() - setAt;
  // The server counts whole milliseconds.
  assert(after > lease - 2, `served after ${after} ms`);
  const locks = [expired, ...await Promise.all(waiting.slice(1))];
  for (const lock of locks) {
    assertEquals(await rival.get(`lock:${lock.name}`), lock.owner);
    await lock.release();
  }
});

testOnServer("attempt() tells the head of the queue to ask often while a rival holds", async ({ server }) => {
  const [client, rival] = [server.connect(), server.connect()];
  const claim = () => ({ name: "a", owner: crypto.randomUUID(), mode: "exclusive" as const, lease: 60_000 });
  const waiters = [0, 1].map(() => ({ store: redis(client), claim: claim() }));
  const asksOften = async ({ store, claim }: typeof waiters[0]) => {
    const attempt = await store.attempt(claim, { enqueue: true });
    return !attempt.granted && "retryAfter" in attempt && attempt.retryAfter <= FOREIGN_POLL_MS;
  };
  assert((await redis(rival).attempt(claim(), { enqueue: false })).granted);
  assertEquals([await asksOften(waiters[0]!), await asksOften(waiters[1]!)], [false, false]);
  await rival.set("lock:a", "rival", "PX", 60_000);
  assertEquals([await asksOften(waiters[0]!), await asksOften(waiters[1]!)], [true, false]);
});

testOnServer("acquire() excludes a plain SET NX PX", async ({ server }) => {
  const [client, rival] = [server.connect(), server.connect()];
  const lock = await acquire(client, "a");
  assertEquals(await rival.set("lock:a", "rival", "PX", 60_000, "NX"), null);
  assertEquals(await rival.get("lock:a"), lock.owner);
  await lock.release();
  assertEquals(await rival.set("lock:a", "rival", "PX", 60_000, "NX"), "OK");
  assertEquals(await tryAcquire(client, "a"), null);
});

const thefts = {
  deletes: { command: ["DEL", "lock:a"], left: null },
  overwrites: { command: ["SET", "lock:a", "rival"], left: "rival" },
};

for (const [action, { command, left }] of Object.entries(thefts)) {
  Deno.test(`Lock is lost at its next renewal when a rival ${action} its key`, async () => {
    await using server = await RedisServer.start();
    const [client, rival] = [server.connect(), server.connect()];
    const lock = await acquire(client, "a", { lease: 60_000, renew: 200 });
    const { signal } = lock;
    await rival.call(command[0]!, ...command.slice(1));
    await until(() => signal.aborted, "the holder notices");
    assertInstanceOf(signal.reason, LockLostError);
    assert(isLockLost(signal.reason));
    assert(!lock.held);
    await assertRejects(() => lock.release(), LockLostError);
    // The release is on its way; what is asked over the same connection comes after it.
    assertEquals(await client.get("lock:a"), left);
  });

  Deno.test(`Lock.release() rejects when a rival ${action} its key`, async () => {
    await using server = await RedisServer.start();
    const [client, rival] = [server.connect(), server.connect()];
    const lock = await acquire(client, "a", { lease: 60_000, renew: false });
    await rival.call(command[0]!, ...command.slice(1));
    await assertRejects(() => lock.release(), LockLostError);
    assert(lock.signal.aborted);
    assertEquals(await client.get("lock:a"), left);
  });
}
