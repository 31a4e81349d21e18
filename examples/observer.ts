/**
 * What to watch in production: an observer that prints what an operator must see, and counts what a dashboard shows.
 *
 * An observer is called synchronously with each event of its store. It must be quick; what it throws is dropped.
 *
 * ```sh
 * deno run --allow-read=. --allow-write=. examples/observer.ts [STORE]
 * ```
 *
 * STORE is explained in `examples/store.ts`; with a server add `--allow-net=HOST:PORT --allow-env`.
 *
 * @module
 */
import { acquire, type LockEvent } from "@holdfast/lock";
import { setTimeout as delay } from "node:timers/promises";
import { openStore } from "./store.ts";

/** A wait that is longer than this is printed. */
const SLOW_MS = 100;

const counts: Record<string, number> = {};

function observe(event: LockEvent): void {
  counts[event.type] = (counts[event.type] ?? 0) + 1;
  switch (event.type) {
    case "acquired":
      if (event.waited > SLOW_MS) console.log(`slow: a caller waited more than ${SLOW_MS} ms for "${event.name}"`);
      break;
    case "gave_up":
      if (event.reason !== "busy") console.log(`gave up (${event.reason}): "${event.name}": ${event.error}`);
      break;
    case "lost":
      console.log(`lost (${event.reason}): "${event.name}": ${event.error.message}`);
      break;
    case "fault":
      console.log(`fault: ${event.operation} of "${event.name}": ${event.error}`);
      break;
    case "warning":
      console.log(`warning: ${event.message}`);
      break;
  }
}

await using opened = await openStore(Deno.args[0], observe);

async function section(duration: number): Promise<void> {
  await using lock = await acquire(opened.store, "invoice:42");
  await delay(duration, undefined, { signal: lock.signal });
}

await Promise.all([section(300), section(10)]); // the second one waits

// A lease that nobody renews ends while the work goes on.
const lock = await acquire(opened.store, "report", { lease: 100, renew: false, strict: false });
await delay(60_000, undefined, { signal: lock.signal }).catch(() => console.log("the report is stopped"));
await lock.release().catch(() => {}); // rejects, because the lock is lost: the observer has printed it

console.log(JSON.stringify(counts));
