import { createLock, createRedlock, IoredisAdapter } from "redlock-universal";
import { connect, FOR_EVER, LEASE, RETRY } from "../clients.ts";
import { held, type Session, type SessionOptions } from "../session.ts";

/** redlock-universal makes a lock for each name, and renews when four fifths of the lease are over. */
export async function open({ ports, tuned }: SessionOptions): Promise<Session> {
  const adapters = (await connect(ports, tuned)).map((client) => new IoredisAdapter(client));
  const retries = tuned ? { retryAttempts: FOR_EVER, retryDelay: RETRY.delay } : {};
  const create = (key: string, ttl: number, limit = retries) => {
    if (adapters.length > 1) return createRedlock({ adapters, key, ttl, ...limit });
    const lean = tuned ? { performance: "lean", circuitBreaker: false } as const : {};
    return createLock({ adapter: adapters[0]!, key, ttl, ...limit, ...lean });
  };
  const take = async (name: string, lease: number, limit = retries) => {
    const lock = create(name, lease, limit);
    const handle = await lock.acquire();
    return () => lock.release(handle);
  };
  return {
    lock: (name, lease = LEASE) => take(name, lease),
    hold: (name, lease, lost) =>
      held((routine) =>
        create(name, lease).using((signal) => {
          signal.addEventListener("abort", lost);
          return routine();
        })
      ),
    within: (name, ms) => take(name, LEASE, { retryAttempts: Math.ceil(ms / RETRY.delay), retryDelay: RETRY.delay }),
  };
}
