/**
 * A job that releases its lock when it is stopped by SIGTERM or Ctrl-C. A signal ends a process without leaving any
 * scope, so `await using` alone would release nothing, and others would wait until the lease ends (30 s). Therefore
 * the signal only stops the work; then the scope ends as usual.
 *
 * Start it in two terminals, and press Ctrl-C in the first: the second is granted the lock at once.
 *
 * ```sh
 * deno run --allow-read=. --allow-write=. examples/sigterm.ts [STORE]
 * ```
 *
 * STORE is explained in `examples/store.ts`; with a server add `--allow-net=HOST:PORT --allow-env`.
 *
 * @module
 */
import { acquire } from "@holdfast/lock";
import { setTimeout as delay } from "node:timers/promises";
import { openStore } from "./store.ts";

/** The signals, with the exit status that a shell expects after each. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, function stopWork() {
    Deno.removeSignalListener(signal, stopWork); // a second Ctrl-C ends the process at once
    Deno.exitCode = SIGNALS[signal];
    stop.abort(new Error(`stopped by ${signal}`));
  });
}

await using opened = await openStore(Deno.args[0]);
try {
  console.log("waiting for the lock");
  await using lock = await acquire(opened.store, "import", { signal: stop.signal }); // a signal also ends the wait
  console.log("working for 10 s; press Ctrl-C to stop");
  await delay(10_000, undefined, { signal: AbortSignal.any([stop.signal, lock.signal]) });
  console.log("done");
} catch (error) {
  if (!stop.signal.aborted) throw error;
  console.log(`${stop.signal.reason.message}: the lock is released`);
}
