import type { Redis } from "ioredis";
import { pause } from "./pause.ts";
import { IDLE } from "./relay.ts";

/** Returns the milliseconds that a server takes to answer after it has been idle for as long as a handoff's holder holds. */
export async function idlePing(client: Redis): Promise<number> {
  await pause(IDLE);
  const sent = performance.now();
  await client.ping();
  return performance.now() - sent;
}
