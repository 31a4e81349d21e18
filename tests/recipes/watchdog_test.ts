// Deno only: it starts servers.
import { assertEquals, assertRejects } from "@std/assert";
import { acquire } from "@holdfast/lock";
import type { Redis } from "ioredis";
import { RedisServer } from "../support/redis_server.ts";
import { until } from "../support/until.ts";
import { deleteOwn } from "./delete_own.ts";
import { granted, type Held, KEY, LONG } from "./lock_client.ts";

/** How often the holder renews its lease, in milliseconds. */
const RENEW = 10;

/** SET NX PX, with a watchdog that renews the lease until the release. */
async function watchdog(client: Redis, lease: number): Promise<Held | null> {
  const id = crypto.randomUUID();
  if (await client.set(KEY, id, "PX", lease, "NX") === null) return null;
  const timer = setInterval(() => client.pexpire(KEY, lease), RENEW);
  const release = async () => {
    clearInterval(timer);
    await deleteOwn(client, KEY, id);
  };
  return { release };
}

/**
 * The section of a client throws, and its process lives on. Three times the server is told that only half of the lease
 * is left, as after half of a lease. Returns whether the lock is free.
 */
async function sectionFails(server: RedisServer, section: () => Promise<void>): Promise<boolean> {
  const redis = server.connect();
  await assertRejects(section, Error, "the disk is full");
  const isFree = async () => await redis.pexpire(KEY, LONG / 2) === 0;
  for (let time = 0; time < 3 && !await isFree(); time++) {
    await until(async () => await redis.pttl(KEY) > LONG / 2, "the lease is renewed");
  }
  return await isFree();
}

Deno.test("watchdog() holds the lock of a section that has thrown", async () => {
  await using server = await RedisServer.start();
  const lock = await granted((lease) => watchdog(server.connect(), lease), LONG);
  const isFree = await sectionFails(server, async () => {
    await Promise.reject(new Error("the disk is full"));
    await lock.release();
  });
  assertEquals(isFree, false);
  await lock.release();
});

Deno.test("await using releases the lock of a section that has thrown", async () => {
  await using server = await RedisServer.start();
  const isFree = await sectionFails(server, async () => {
    await using _lock = await acquire(server.connect(), "a", { lease: LONG, renew: RENEW });
    throw new Error("the disk is full");
  });
  assertEquals(isFree, true);
});
