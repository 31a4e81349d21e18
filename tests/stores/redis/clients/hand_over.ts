import { assert } from "@std/assert";
import { acquire, type RedisClient } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { until } from "../../../support/until.ts";
import { acquireWoken } from "../wakeups/acquire_woken.ts";
import { subscribed } from "../wakeups/subscribed.ts";

/** Much longer than a test, in milliseconds. */
const LEASE = 60_000;

/** Hands a lock over from one client to another, over messages. Something may happen while the waiter is queued. */
export async function handOver(
  from: RedisClient,
  to: RedisClient,
  name = "a",
  meanwhile: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  // That of Bun subscribes while it has waiters.
  const subscribesFirst = !("send" in to);
  // Else the waiter is woken when that begins, too.
  if (subscribesFirst) await subscribed(to);
  const lock = await acquire(from, name, { lease: LEASE });
  const waiting = subscribesFirst ? acquireWoken(to, name, LEASE) : acquire(to, name, { lease: LEASE });
  await until(async () => (await redis(from).query({ name })).pending.length === 1, "it is queued");
  await meanwhile();
  await lock.release();
  const next = await waiting;
  assert(next.fence > lock.fence);
  await next.release();
}
