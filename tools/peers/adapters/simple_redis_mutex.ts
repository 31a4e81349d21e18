import { createClient } from "redis";
import { lock } from "simple-redis-mutex";
import { LEASE } from "../clients.ts";
import type { Session, SessionOptions } from "../session.ts";

/** simple-redis-mutex runs on another client, node-redis, and has no renewal of its own. */
export async function open({ ports }: SessionOptions): Promise<Session> {
  const client = createClient({ url: `redis://127.0.0.1:${ports[0]}` });
  client.on("error", () => {});
  await client.connect();
  // Its types are those of another major version of the client.
  const redis = client as unknown as Parameters<typeof lock>[0];
  return {
    lock: (name, timeout = LEASE) => lock(redis, name, { timeout }),
    within: (name, ms) => lock(redis, name, { timeout: LEASE, failAfter: ms }),
  };
}
