/**
 * A job that gives its lock back when it is stopped by Ctrl-C or SIGTERM. A signal ends a process without leaving any
 * scope, so `await using` alone would release nothing, and others would wait until the lease is over (30 s). Therefore
 * the signal only stops the work; then the scope ends as usual.
 *
 * Start it in two terminals, and press Ctrl-C in the first: the second one has the lock at once.
 *
 * ```sh
 * deno run --allow-read=. --allow-write=. examples/ctrl_c.ts locks.db
 * ```
 *
 * @module
 */
import { acquire } from "@holdfast/lock";
import { sqlite } from "@holdfast/lock/sqlite";
import { setTimeout as wait } from "node:timers/promises";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, () => stop.abort(new Error(`stopped by ${signal}`)));
}

using store = sqlite(Deno.args[0] ?? ":memory:");
try {
  console.log("waiting for the lock");
  await using lock = await acquire(store, "import", { signal: stop.signal }); // Ctrl-C also ends the wait
  console.log("working for 10 s; press Ctrl-C to stop");
  await wait(10_000, undefined, { signal: AbortSignal.any([stop.signal, lock.signal]) });
  console.log("done");
} catch (error) {
  if (!stop.signal.aborted) throw error;
  console.log(`${stop.signal.reason.message}: nothing is held any more`);
  Deno.exitCode = 130; // what a shell expects after Ctrl-C
}
