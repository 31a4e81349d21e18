import { acquire, type LockTarget } from "@holdfast/lock";
import { connect, LEASE } from "../clients.ts";
import type { Session, SessionOptions } from "../session.ts";

/** This library, as users write it; it has nothing to be tuned. */
export async function open({ ports }: SessionOptions): Promise<Session> {
  return sessionOn(await targetOf(ports));
}

/** A client, or the clients of a quorum. */
export async function targetOf(ports: readonly number[]): Promise<LockTarget> {
  const clients = await connect(ports, false);
  return clients.length === 1 ? clients[0]! : clients;
}

/** What the bench asks of a library, on any target. */
export function sessionOn(target: LockTarget): Session {
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
