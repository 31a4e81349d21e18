import { acquire, type RedisClient } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { Wakeups } from "../../../../src/stores/redis/wakeups/wakeups.ts";
import { until } from "../../../support/until.ts";

/** Much longer than a test, in milliseconds. */
const LEASE = 60_000;

/** Hands a lock over from one client to another, over messages. */
export async function handOver(from: RedisClient, to: RedisClient, name = "a"): Promise<void> {
  const lock = await acquire(from, name, { lease: LEASE });
  const waiting = acquire(to, name, { lease: LEASE });
  await until(() => Wakeups.of(to).subscribed, "the waiter is subscribed");
  await until(async () => (await redis(from).query({ name })).pending.length === 1, "it is queued");
  await lock.release();
  await (await waiting).release();
}
