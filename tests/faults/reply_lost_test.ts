// Deno only: it listens on ports in the place of a server.
import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { acquire, type LockEvent, StoreError, tryAcquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import type { Redis } from "ioredis";
import { attempt, release, renew } from "../../src/stores/redis/scripts/generated.ts";
import { RedisServer } from "../support/redis_server.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import { until } from "../support/until.ts";

/** Much longer than a test, in milliseconds: whatever stays behind is seen. */
const LEASE = 60_000;

/** How long to wait for a lock, in milliseconds: so long only when something is broken. */
const LIMIT = 60_000;

/** What clients do with a request whose reply did not come before the connection was cut. */
const CLIENTS = {
  "sends it again": { resends: true, options: {} },
  "rejects it": { resends: false, options: { maxRetriesPerRequest: 0 } },
  "rejects it, and all others until it is connected": {
    resends: false,
    options: { maxRetriesPerRequest: 0, enableOfflineQueue: false },
  },
};

for (const [kind, { resends, options }] of Object.entries(CLIENTS)) {
  Deno.test(`tryAcquire() leaves no lock when a reply is lost and the client ${kind}`, async () => {
    await using server = await RedisServer.start();
    await using proxy = await TcpProxy.start(server.port);
    const direct = server.connect();
    const client = await connected(proxy, options);
    const lost = proxy.loseReply(attempt.sha);
    const acquiring = tryAcquire(client, "a", { lease: LEASE });
    if (resends) {
      const lock = await acquiring;
      assertEquals(await direct.get("lock:a"), lock?.owner);
      assert(lock?.held);
      await lock.release();
    } else {
      const error = await assertRejects(() => acquiring, StoreError);
      assertInstanceOf(error.cause, Error);
    }
    await lost;
    await until(async () => await direct.exists("lock:a") === 0, "the lock is free");
    assertEquals(await server.leftovers(), []);
  });

  Deno.test(`acquire() succeeds although its first reply is lost and the client ${kind}`, async () => {
    await using server = await RedisServer.start();
    await using proxy = await TcpProxy.start(server.port);
    const direct = server.connect();
    const client = await connected(proxy, options);
    const lost = proxy.loseReply(attempt.sha);
    const lock = await acquire(client, "a", { lease: LEASE, wait: LIMIT });
    await lost;
    assertEquals(await direct.get("lock:a"), lock.owner);
    await lock.release();
    assertEquals(await server.leftovers(), []);
  });

  Deno.test(`acquire() claims its turn again when the reply is lost and the client ${kind}`, async () => {
    await using server = await RedisServer.start();
    await using proxy = await TcpProxy.start(server.port);
    const direct = server.connect();
    const client = await connected(proxy, options);
    const holder = await acquire(direct, "a", { lease: LEASE });
    const waiting = acquire(client, "a", { lease: LEASE, wait: LIMIT });
    await until(async () => await direct.zcard("{lock:a}:queue") === 1, "the waiter is queued");
    const lost = proxy.loseReply(attempt.sha);
    await holder.release();
    await lost;
    const lock = await waiting;
    assertEquals(await direct.get("lock:a"), lock.owner);
    assert(lock.fence > holder.fence);
    await lock.release();
    assertEquals(await server.leftovers(), []);
  });

  Deno.test(`Lock is held on when the reply to a renewal is lost and the client ${kind}`, async () => {
    await using server = await RedisServer.start();
    await using proxy = await TcpProxy.start(server.port);
    const direct = server.connect();
    const client = await connected(proxy, options);
    const events: LockEvent[] = [];
    const store = redis(client, { observer: (event) => events.push(event) });
    const lock = await acquire(store, "a", { lease: LEASE, renew: 100 });
    await proxy.loseReply(renew.sha);
    const before = events.length;
    // So short that only a renewal after the fault explains a longer one.
    await direct.pexpire("lock:a", LEASE / 2);
    await until(async () => await direct.pttl("lock:a") > LEASE / 2, "the store has renewed it");
    await until(() => events.slice(before).some(({ type }) => type === "renewed"), "the holder knows");
    assert(lock.held);
    assert(!lock.signal.aborted);
    const faults = events.flatMap((event) => event.type === "fault" ? [event.operation] : []);
    assertEquals(faults.includes("renew"), !resends);
    await lock.release();
    assertEquals(await server.leftovers(), []);
  });

  Deno.test(`release() serves the next once when the reply is lost and the client ${kind}`, async () => {
    await using server = await RedisServer.start();
    await using proxy = await TcpProxy.start(server.port);
    const direct = server.connect();
    const client = await connected(proxy, options);
    const alone = await acquire(client, "alone", { lease: LEASE });
    const first = proxy.loseReply(release.sha);
    await Promise.all([alone.release(), first]);
    assertEquals(await direct.exists("lock:alone"), 0);

    const lock = await acquire(client, "a", { lease: LEASE });
    const waiting = acquire(direct, "a", { lease: LEASE, wait: LIMIT });
    await until(async () => await direct.zcard("{lock:a}:queue") === 1, "the waiter is queued");
    const second = proxy.loseReply(release.sha);
    await Promise.all([lock.release(), second]);
    const next = await waiting;
    assert(next.fence > lock.fence);
    assertEquals(await direct.get("lock:a"), next.owner);
    await next.release();
    assertEquals(await server.leftovers(), []);
  });
}

/**
 * Returns a client behind the proxy whose server knows the scripts, so that the next request is not refused for that.
 */
async function connected(proxy: TcpProxy, options: Parameters<TcpProxy["connect"]>[0]): Promise<Redis> {
  const client = proxy.connect(options);
  await new Promise<void>((resolve) => client.on("ready", () => resolve()));
  const lock = await acquire(client, "first");
  await lock.extend();
  await lock.release();
  return client;
}
