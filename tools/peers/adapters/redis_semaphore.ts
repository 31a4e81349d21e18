import { type LockOptions, Mutex, RedlockMutex } from "redis-semaphore";
import { connect, LEASE, RETRY } from "../clients.ts";
import type { Session, SessionOptions } from "../session.ts";

/** redis-semaphore renews by itself. Its mutexes are made for each name. */
export async function open({ ports, tuned }: SessionOptions): Promise<Session> {
  const clients = await connect(ports, tuned);
  const settings: LockOptions = tuned ? { acquireTimeout: Infinity, retryInterval: RETRY.delay } : {};
  const take = async (name: string, options: LockOptions, signal?: AbortSignal) => {
    const all = { ...settings, ...options };
    const mutex = clients.length === 1 ? new Mutex(clients[0]!, name, all) : new RedlockMutex(clients, name, all);
    await mutex.acquire(signal);
    return () => mutex.release();
  };
  return {
    lock: (name, lockTimeout = LEASE) => take(name, { lockTimeout }),
    // Without a listener for the loss its own default stays, which throws.
    hold: (name, lockTimeout, lost) => {
      const options: LockOptions = { lockTimeout, refreshInterval: lockTimeout / 3 };
      return take(name, tuned ? { ...options, onLockLost: lost } : options);
    },
    within: (name, ms) => take(name, { acquireTimeout: ms, lockTimeout: LEASE }, AbortSignal.timeout(ms)),
  };
}
