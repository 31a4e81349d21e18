/**
 * A cron job that runs once a night, although many instances start it: machines, regions or apps.
 *
 * The lock alone is not enough. When the job is short, an instance whose clock is behind finds the lock free again, and
 * would run the job a second time. So each run is written down under the lock. If the instance that runs the job dies,
 * the next one in line finds no record and runs it from the start.
 *
 * ```sh
 * deno run examples/cron.ts                    # three instances, now
 * deno run --unstable-cron examples/cron.ts    # this instance, every night (Deno Deploy needs no flag)
 * ```
 *
 * @module
 */
import { acquire } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { DatabaseSync } from "node:sqlite";

const store = memory(); // where there are several machines: new Redis("redis://…")
const database = new DatabaseSync(":memory:"); // any database that all instances share
database.exec("CREATE TABLE runs (job TEXT, night TEXT, instance TEXT, PRIMARY KEY (job, night))");

async function nightly(instance: string): Promise<void> {
  const night = new Date().toISOString().slice(0, 10); // which run this is: the same on every instance
  await using lock = await acquire(store, "nightly-report");
  const run = database.prepare("SELECT instance FROM runs WHERE job = 'report' AND night = ?").get(night);
  if (run !== undefined) {
    console.log(`${instance}: the report of ${night} was already written by ${run["instance"]}`);
    return;
  }
  await writeReport(lock.signal);
  lock.signal.throwIfAborted();
  database.prepare("INSERT INTO runs VALUES ('report', ?, ?)").run(night, instance);
  console.log(`${instance}: the report of ${night} is written`);
}

async function writeReport(signal: AbortSignal): Promise<void> {
  await fetch("data:text/plain,the figures of the day", { signal });
}

// At the top level, where Deno Deploy looks for it.
Deno.cron?.("nightly report", "0 3 * * *", () => nightly("this instance"));

if (!("cron" in Deno)) await Promise.all(["instance 1", "instance 2", "instance 3"].map(nightly));
