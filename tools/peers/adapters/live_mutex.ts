import { Client } from "live-mutex";
import { LEASE } from "../clients.ts";
import type { Session, SessionOptions } from "../session.ts";

/** The longest time that it waits for a lock, in milliseconds. */
const LONGEST = 800_000;

/** live-mutex has a server of its own instead of Redis, which keeps the queue in its memory. */
export async function open({ ports, tuned }: SessionOptions): Promise<Session> {
  const settings = tuned ? { lockRequestTimeout: LONGEST } : {};
  const client = new Client({ host: "127.0.0.1", port: ports[0]!, ...settings });
  client.emitter.on("warning", () => {});
  await client.ensure();
  const take = async (name: string, options: { ttl: number; lockRequestTimeout?: number; maxRetries?: number }) => {
    const { id } = await client.acquire(name, options);
    return () => client.release(name, { id });
  };
  return {
    lock: (name, ttl = LEASE) => take(name, { ttl }),
    within: (name, ms) => take(name, { ttl: LEASE, lockRequestTimeout: ms, maxRetries: 0 }),
  };
}
