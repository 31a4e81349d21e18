// Deno only: it starts servers.
import { assertEquals } from "@std/assert";
import { redis } from "@holdfast/lock/redis";
import type { Redis } from "ioredis";
import { type Clock, SystemClock } from "../../src/time/clock.ts";
import { acquireFrom } from "../../src/lock/acquisition.ts";
import { checkTryAcquireOptions } from "../../src/lock/options.ts";
import { RedisServer } from "../support/redis_server.ts";
import { WrongClock } from "../support/wrong_clock.ts";
import { granted, type Held, KEY, type LockClient, LONG } from "./lock_client.ts";

/** SETNX of the end of the lease. A client that finds an end in the past replaces it by GETSET. */
async function setnxGetset(client: Redis, lease: number, clock: Clock): Promise<Held | null> {
  const now = clock.now().wall;
  const held = { release: () => client.del(KEY) };
  if (await client.setnx(KEY, now + lease) === 1) return held;
  if (Number(await client.get(KEY)) > now) return null;
  return Number(await client.getset(KEY, now + lease)) <= now ? held : null;
}

/** A has the lock. The clock of B is ahead of that of A by two leases, and B asks. Returns how many hold the lock. */
async function withFastClock(make: (client: Redis, clock: Clock) => LockClient): Promise<number> {
  await using server = await RedisServer.start();
  const a = await granted(make(server.connect(), new SystemClock()), LONG);
  const b = await make(server.connect(), new WrongClock(2 * LONG))(LONG);
  await b?.release();
  await a.release();
  return b === null ? 1 : 2;
}

Deno.test("setnxGetset() gives a live lock to a client whose clock is fast", async () => {
  assertEquals(await withFastClock((client, clock) => (lease) => setnxGetset(client, lease, clock)), 2);
});

Deno.test("tryAcquire() leaves a live lock alone when the caller's clock is fast", async () => {
  const holders = await withFastClock((client, clock) => {
    const store = redis(client);
    return (lease) => acquireFrom(store, "a", checkTryAcquireOptions({ lease, renew: false }), clock);
  });
  assertEquals(holders, 1);
});
