import type { AcquireOptions, Lock, RedisClient } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { acquireFrom } from "../../../../src/lock/acquisition.ts";
import { checkAcquireOptions } from "../../../../src/lock/options.ts";
import { inTime } from "../../../support/in_time.ts";
import { VirtualClock } from "../../../support/virtual_clock.ts";

/** When a waiter is taken for one that nobody wakes, in milliseconds. */
const LIMIT = 60_000;

/**
 * Acquires a lock on a clock that stands still: a waiter attempts again when it is woken, and never by itself. So if no
 * message serves it, nothing does.
 */
export async function acquireWoken(
  client: RedisClient,
  name: string,
  lease: number,
  options: AcquireOptions = {},
): Promise<Lock> {
  const checked = checkAcquireOptions({ ...options, lease });
  const lock = acquireFrom(redis(client), name, checked, new VirtualClock());
  return (await inTime(lock, LIMIT, "the waiter is woken"))!;
}
