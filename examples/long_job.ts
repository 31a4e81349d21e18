/**
 * A long job that stops as soon as its lock is lost, because somebody else may be doing the same job from then on.
 *
 * `lock.signal` goes wherever the job waits: to `fetch`, to a database driver, to the job's own loop. Usually the lock
 * is renewed for as long as it is held, and lost only when the store is out of reach or the machine slept. Here it is
 * not renewed, so that you can see it end.
 *
 * ```sh
 * deno run examples/long_job.ts
 * ```
 *
 * @module
 */
import { acquire, isLockLost } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { setTimeout as wait } from "node:timers/promises";

const store = memory(); // or: new Redis("redis://…"), sqlite("locks.db")

async function importPages(pages: number, signal: AbortSignal): Promise<void> {
  for (let page = 1; page <= pages; page++) {
    await wait(100, undefined, { signal }); // rejects when the signal aborts, also in the middle of a page
    console.log(`page ${page} of ${pages}`);
  }
}

try {
  await using lock = await acquire(store, "import", { lease: 450, renew: false });
  await importPages(10, lock.signal);
} catch (error) {
  // The job failed because of the signal, and so did the release: isLockLost() looks inside of both.
  if (!isLockLost(error)) throw error;
  console.log("stopped: the lock is lost; the next holder goes on from the last page");
}
