/**
 * A long job that stops as soon as its lock is lost, because another holder may do the same job from then on.
 *
 * Pass `lock.signal` to everything that waits: to `fetch`, to a database driver, to the job's own loop. Usually the
 * lock is renewed for as long as it is held, and lost only when the store is unreachable or the machine was suspended.
 * Here it is not renewed, so that you can see it end.
 *
 * ```sh
 * deno run --allow-read=. --allow-write=. examples/long_job.ts [STORE]
 * ```
 *
 * STORE is explained in `examples/store.ts`; with a server add `--allow-net=HOST:PORT --allow-env`.
 *
 * @module
 */
import { acquire, isLockLost } from "@holdfast/lock";
import { setTimeout as delay } from "node:timers/promises";
import { openStore } from "./store.ts";

await using opened = await openStore(Deno.args[0]);

async function importPages(pages: number, signal: AbortSignal): Promise<void> {
  for (let page = 1; page <= pages; page++) {
    await delay(100, undefined, { signal }); // rejects when the signal aborts, also in the middle of a page
    console.log(`page ${page} of ${pages}`);
  }
}

try {
  await using lock = await acquire(opened.store, "import", { lease: 450, renew: false });
  await importPages(10, lock.signal);
} catch (error) {
  // The job failed because of the signal, and so did the release: isLockLost() looks inside of both.
  if (!isLockLost(error)) throw error;
  console.log("stopped: the lock is lost; the next holder goes on from the last page");
}
