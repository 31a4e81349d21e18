import Redlock from "redlock4";
import { connect, LEASE, RETRY } from "../clients.ts";
import type { Session, SessionOptions } from "../session.ts";

/** redlock 4 has no renewal, and a number of tries instead of a time. */
export async function open({ ports, tuned }: SessionOptions): Promise<Session> {
  const clients = await connect(ports, tuned);
  const settings = tuned ? { retryCount: -1, retryDelay: RETRY.delay, retryJitter: RETRY.jitter } : {};
  const redlock = new Redlock(clients, settings);
  redlock.on("clientError", () => {});
  return {
    async lock(name, lease = LEASE) {
      const lock = await redlock.acquire(name, lease);
      return () => lock.unlock();
    },
    async within(name, ms) {
      const retryCount = Math.ceil(ms / redlock.retryDelay);
      const lock = await redlock.acquireWithOptions(name, LEASE, { retryCount });
      return () => lock.unlock();
    },
  };
}
