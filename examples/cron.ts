/**
 * A job that runs once a night, although many instances start it: processes, machines or regions.
 *
 * The lock alone is not enough. An instance whose clock is behind finds the lock free after the job has ended, and
 * would run the job again. So each run is written down, under the lock. If the instance that runs the job dies, the
 * next waiter is granted the lock when the lease ends, finds no record, and runs the job from the start.
 *
 * Start it in three terminals. The first instance writes the report in 3 s, the others wait and find it written. Then
 * delete `example_runs.db`, start it again, and kill the first instance.
 *
 * ```sh
 * deno run --allow-read=. --allow-write=. examples/cron.ts [STORE] [NIGHT]
 * deno run --allow-read=. --allow-write=. --unstable-cron examples/cron.ts    # stays, and runs every night
 * ```
 *
 * STORE is explained in `examples/store.ts`; with a server add `--allow-net=HOST:PORT --allow-env`.
 *
 * @module
 */
import { acquire, type Lock } from "@holdfast/lock";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { openStore } from "./store.ts";

const [where, night = new Date().toISOString().slice(0, 10)] = Deno.args;
const instance = `instance ${Deno.pid}`;

/** Any database that all instances share. */
function openRuns(): DatabaseSync {
  const database = new DatabaseSync("example_runs.db");
  database.exec("PRAGMA busy_timeout = 5000");
  database.exec("CREATE TABLE IF NOT EXISTS runs (night TEXT PRIMARY KEY, instance TEXT, fence INTEGER)");
  return database;
}

async function nightly(night: string): Promise<void> {
  await using opened = await openStore(where);
  using database = openRuns();
  await using lock = await acquire(opened.store, "nightly-report", { lease: 6_000 });
  const run = database.prepare("SELECT instance FROM runs WHERE night = ?").get(night);
  if (run !== undefined) {
    console.log(`${instance}: the report of ${night} was already written by ${run["instance"]}`);
    return;
  }
  await writeReport(lock);
  lock.signal.throwIfAborted();
  database.prepare("INSERT INTO runs VALUES (?, ?, ?)").run(night, instance, lock.fence);
  console.log(`${instance}: the report of ${night} is written`);
}

async function writeReport({ signal, fence }: Lock): Promise<void> {
  console.log(`${instance}: writing the report of ${night}, with fence ${fence}`);
  await delay(3_000, undefined, { signal });
}

// At the top level, where Deno Deploy looks for it.
Deno.cron?.("nightly report", "0 3 * * *", () => nightly(new Date().toISOString().slice(0, 10)));

if (!("cron" in Deno)) await nightly(night);
