/**
 * Workers of a job queue that together run at most three jobs at the same time, however many processes there are: for
 * example because a service that the jobs call allows no more.
 *
 * A lock per job keeps two workers from running the same job. Then the job waits for one of three permits. A worker
 * that dies frees both when their leases end, and another worker runs its job again.
 *
 * Start it in two terminals: 12 jobs are done once each, three at a time. Delete `example_jobs.db` to begin again.
 *
 * ```sh
 * deno run --allow-read=. --allow-write=. examples/queue_worker.ts [STORE]
 * ```
 *
 * STORE is explained in `examples/store.ts`; with a server add `--allow-net=HOST:PORT --allow-env`. Redlock has no
 * permits.
 *
 * @module
 */
import { acquire, tryAcquire } from "@holdfast/lock";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { openStore } from "./store.ts";

const WORKERS = 4;
const LEASE_MS = 10_000;
const POLL_MS = 200;

await using opened = await openStore(Deno.args[0]);
using database = new DatabaseSync("example_jobs.db"); // any queue that all workers share
database.exec(`
  PRAGMA busy_timeout = 5000;
  CREATE TABLE IF NOT EXISTS jobs (id INTEGER PRIMARY KEY, began INTEGER, done INTEGER);
  INSERT OR IGNORE INTO jobs (id) VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12);
`);

function openJobs(): number[] {
  return database.prepare("SELECT id FROM jobs WHERE done IS NULL ORDER BY id").all().map(({ id }) => Number(id));
}

/** Runs the job, unless another worker has it or has done it. */
async function tryJob(id: number): Promise<void> {
  await using job = await tryAcquire(opened.store, `job:${id}`, { lease: LEASE_MS });
  if (job === null || !openJobs().includes(id)) return;
  await using permit = await acquire(opened.store, "thumbnails", { permits: 3, lease: LEASE_MS });
  const began = Date.now();
  await delay(100, undefined, { signal: AbortSignal.any([job.signal, permit.signal]) }); // the work
  database.prepare("UPDATE jobs SET began = ?, done = ? WHERE id = ?").run(began, Date.now(), id);
  console.log(`job ${id} is done by process ${Deno.pid}`);
}

async function work(): Promise<void> {
  for (let open = openJobs(); open.length > 0; open = openJobs()) {
    for (const id of open) await tryJob(id);
    await delay(POLL_MS);
  }
}

await Promise.all(Array.from({ length: WORKERS }, work));
console.log("no job is left");
