import { Redisson } from "node-redisson";
import { LEASE } from "../clients.ts";
import type { Release, Session, SessionOptions } from "../session.ts";

/** node-redisson makes its own connections, and renews every third of the lease, which belongs to the connection. */
export async function open({ ports }: SessionOptions): Promise<Session> {
  const connections = new Map<number, Redisson>();
  const lasting = (lease: number) => {
    const known = connections.get(lease);
    if (known !== undefined) return known;
    const redis = { options: { host: "127.0.0.1", port: ports[0]! } };
    const redisson = new Redisson({ redis, lockWatchdogTimeout: BigInt(lease) });
    redisson.redis.on("error", () => {});
    connections.set(lease, redisson);
    return redisson;
  };
  const take = async (name: string, lease: number): Promise<Release> => {
    const lock = lasting(lease).getLock(name);
    await lock.lock();
    return () => lock.unlock();
  };
  await lasting(LEASE).redis.ping();
  return {
    lock: (name, lease = LEASE) => take(name, lease),
    // It tells nobody when a lock is lost.
    hold: take,
    async within(name, ms) {
      const lock = lasting(LEASE).getLock(name);
      if (!await lock.tryLock(BigInt(ms), true)) throw new Error("not acquired");
      return () => lock.unlock();
    },
  };
}
