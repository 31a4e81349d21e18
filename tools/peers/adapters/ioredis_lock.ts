import { createLock } from "@microfleet/ioredis-lock";
import { connect, LEASE, RETRY } from "../clients.ts";
import type { Session, SessionOptions } from "../session.ts";

/** @microfleet/ioredis-lock makes a lock for each acquire, and has no renewal of its own. */
export async function open({ ports, tuned }: SessionOptions): Promise<Session> {
  const [client] = await connect(ports, tuned);
  // Its types are those of another major version of the client.
  const redis = client as unknown as Parameters<typeof createLock>[0];
  const take = async (name: string, timeout: number, options = {}) => {
    const lock = createLock(redis, { timeout, ...options });
    await lock.acquire(name);
    return () => lock.release();
  };
  const settings = tuned ? { retries: Infinity, delay: RETRY.delay } : {};
  return {
    lock: (name, timeout = LEASE) => take(name, timeout, settings),
    within: (name, ms) => take(name, LEASE, { retries: Math.ceil(ms / RETRY.delay), delay: RETRY.delay }),
  };
}
