/**
 * A process that uses one lock on each of several servers, while those are killed. Its argument is a {@linkcode Plan},
 * as JSON. It handles only what its own calls reject with, so that anything else ends it, and writes how each lock
 * ended, as JSON.
 *
 * @module
 */
import { Redis } from "npm:ioredis@^6";
import { acquire, LockError } from "../../mod.ts";

/** What the process does. Durations are in milliseconds. */
export interface Plan {
  readonly fixtures: readonly {
    readonly port: number;
    /** How long the lock is held, unless it is lost. */
    readonly hold: number;
    /** Whether the client has the usual options, with which a request fails after more than a minute; or soon. */
    readonly patient: boolean;
  }[];
  readonly lease: number;
  readonly renew: number;
  /** How long to wait for a lock. */
  readonly wait: number;
  /** How long the process goes on at least, so that what it does in the background can fail. */
  readonly linger: number;
}

/** How a lock ended: `"released"`, or the code of the error. */
export type End = "released" | LockError["code"];

const { fixtures, lease, renew, wait, linger }: Plan = JSON.parse(Deno.args[0] ?? "");
const lingering = new Promise((resolve) => setTimeout(resolve, linger));
const clients = fixtures.map(({ port, patient }) => {
  return new Redis(port, "127.0.0.1", patient ? {} : { maxRetriesPerRequest: 2, retryStrategy: () => 50 });
});
console.log(JSON.stringify(await Promise.all(clients.map((client, i) => live(client, fixtures[i]!.hold)))));
await lingering;
for (const client of clients) client.disconnect();

async function live(client: Redis, hold: number): Promise<End> {
  try {
    const lock = await acquire(client, "a", { lease, renew, wait });
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, hold);
      lock.signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve();
      });
    });
    await lock.release();
    return "released";
  } catch (error) {
    if (error instanceof LockError) return error.code;
    throw error;
  }
}
