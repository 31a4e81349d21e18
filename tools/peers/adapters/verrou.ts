import { LockFactory } from "@verrou/core";
import { redisStore } from "@verrou/core/drivers/redis";
import { connect, LEASE, RETRY } from "../clients.ts";
import type { Session, SessionOptions } from "../session.ts";

/** Verrou has no renewal of its own. */
export async function open({ ports, tuned }: SessionOptions): Promise<Session> {
  const [connection] = await connect(ports, tuned);
  // Its types are those of another major version of the client.
  const options = { connection } as unknown as Parameters<typeof redisStore>[0];
  const factory = new LockFactory(redisStore(options).factory(), tuned ? { retry: { delay: RETRY.delay } } : {});
  const take = async (name: string, lease: number, timeout?: number) => {
    const lock = factory.createLock(name, lease);
    if (!await lock.acquire(timeout === undefined ? {} : { retry: { timeout } })) throw new Error("not acquired");
    return () => lock.release();
  };
  return {
    lock: (name, lease = LEASE) => take(name, lease),
    within: (name, ms) => take(name, LEASE, ms),
  };
}
