/**
 * A program that takes the lock "a" again and again until its input ends: `load_process.ts <sentinel | cluster>
 * <address as JSON>`. It writes a line for each section.
 */
import { Cluster, Redis } from "npm:ioredis@^6";
import { acquire, LockLostError, StoreError } from "../../mod.ts";

/** One time that the lock was held. Times are of the wall clock, which all processes of a machine share. */
export interface Section {
  /** When it was asked for; when the grant was returned. */
  readonly called: number;
  readonly granted: number;
  readonly fence: string;
}

/** How long the lock is kept for a process that dies, in milliseconds: over before a failover is. */
const LEASE = 1_000;

const [kind, json] = Deno.args as [string, string];
const address = JSON.parse(json);
const client = kind === "sentinel" ? new Redis({ ...address, retryStrategy: () => 50 }) : new Cluster(address);
client.on("error", () => {});

let stopped = false;
const stopping = (async () => {
  for await (const _ of Deno.stdin.readable);
  stopped = true;
})();

while (!stopped) {
  const called = Date.now();
  try {
    await using lock = await acquire(client, "a", { lease: LEASE, strict: false });
    console.log(JSON.stringify({ called, granted: Date.now(), fence: `${lock.fence}` } satisfies Section));
    await new Promise((resolve) => setTimeout(resolve, 2));
  } catch (error) {
    // Whoever does not wait yet hears of a fault at once.
    if (!(error instanceof StoreError || error instanceof LockLostError)) throw error;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
await stopping;
client.disconnect();
