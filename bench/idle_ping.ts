import { pause } from "./pause.ts";
import { IDLE } from "./relay.ts";

/** A client that asks its server for an answer, and for nothing else. */
export interface Pinging {
  ping(): Promise<unknown>;
}

/**
 * Returns the milliseconds that a server takes to answer after it has been idle for as long as a handoff's holder
 * holds.
 */
export async function idlePing(client: Pinging): Promise<number> {
  await pause(IDLE);
  const sent = performance.now();
  await client.ping();
  return performance.now() - sent;
}
