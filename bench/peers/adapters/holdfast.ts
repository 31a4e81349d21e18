import { acquire } from "@holdfast/lock";
import { connect, LEASE } from "../clients.ts";
import type { Session, SessionOptions } from "../session.ts";

/** This library, as users write it; it has nothing to be tuned. */
export async function open({ ports }: SessionOptions): Promise<Session> {
  const clients = await connect(ports, false);
  const target = clients.length === 1 ? clients[0]! : clients;
  return {
    async lock(name, lease = LEASE) {
      const lock = await acquire(target, name, { lease });
      return () => lock.release();
    },
    async pair(name) {
      await using _lock = await acquire(target, name);
    },
    async hold(name, lease, lost) {
      const lock = await acquire(target, name, { lease, strict: false });
      lock.signal.addEventListener("abort", lost);
      return () => lock.release();
    },
    async within(name, ms) {
      const lock = await acquire(target, name, { wait: ms });
      return () => lock.release();
    },
  };
}
