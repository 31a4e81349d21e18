import type { Redis } from "ioredis";
import { type Lock, type LockTarget, tryAcquire } from "@holdfast/lock";
import type { RedisServer } from "../support/redis_server.ts";
import { until } from "../support/until.ts";

/** The key that all recipes use, and Holdfast for the lock "a". */
export const KEY = "lock:a";

/** A lease that ends within a schedule, and one that does not, in milliseconds. */
export const [SHORT, LONG] = [2_000, 600_000];

/** A lock that a client of a schedule holds. */
export interface Held {
  /** Undefined in the old recipes: they have none. */
  readonly fence?: bigint;
  release(): Promise<unknown>;
}

/** One client of a schedule: asks once for the lock, and resolves to null when somebody else has it. */
export type LockClient = (lease: number) => Promise<Held | null>;

/** Makes a client over a connection of its own. */
export type MakeClient = (redis: Redis) => LockClient;

/** Returns a client of Holdfast. It renews nothing: in a schedule with a short lease it is the one that is paused. */
export function holdfast(target: LockTarget): (lease: number) => Promise<Lock | null> {
  return (lease) => tryAcquire(target, "a", { lease, renew: false });
}

/** Returns the lock of a client that must be granted it. */
export async function granted(client: LockClient, lease: number): Promise<Held> {
  // An answer that takes longer than its lease is a fault, and what it has granted is released: then it asks again.
  const held = await client(lease).catch(() => client(lease));
  if (held === null) throw new Error("the lock is held, and the schedule wants it to be free");
  return held;
}

/** Waits until the lease is over by the server's clock. */
export async function expired(server: RedisServer): Promise<void> {
  const redis = server.connect();
  await until(async () => await redis.exists(KEY) === 0, "the lease has ended");
}
