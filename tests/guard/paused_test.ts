// Deno only: it starts servers and processes, and pauses them.
import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { RedisServer } from "../support/redis_server.ts";
import { DenoProcess } from "../support/deno_process.ts";
import { type ClientName, journalOf } from "./databases.ts";
import { isMissing, Place, serve } from "./place.ts";
import type { WriterOptions } from "./writer_process.ts";

serve();

const LEASE = 1_500;

/** Where the lock is kept, how many handles of a process want it, and which one is paused. */
const LOCKS = {
  "on Redis": { handles: 1, pauseAt: 1 },
  "on SQLite": { handles: 1, pauseAt: 1 },
  "in a run": { handles: 6, pauseAt: 3 },
};

/** A client of each kind of database; the others run the same statements. */
const DATABASES: readonly ClientName[] = ["postgres.js", "mariadb", "node:sqlite"];

function start(options: WriterOptions): DenoProcess {
  return new DenoProcess(import.meta.resolve("./writer_process.ts"), JSON.stringify(options));
}

/** The lease of a lock that nobody may take over, in milliseconds. */
const LONG_LEASE = 600_000;

/** How often a process is started at most: a slow moment may end its lease, and so its run, before it is paused. */
const STARTS = 10;

/**
 * Starts a process, waits until it is paused, and stops it. Returns it with the fence of the lock that it has then: as
 * many others as there must be have committed before, the last one of them in the same run.
 */
async function startedPaused(place: Place, options: WriterOptions): Promise<{ early: DenoProcess; fence: bigint }> {
  for (let starts = 1;; starts++) {
    const early = start(options);
    const fence = await paused(early);
    early.signal("SIGSTOP");
    const journal = await journalOf(place.database);
    const isOneRun = journal.length === 0 || journal.at(-1) === fence - 1n;
    if (isOneRun && journal.length === options.pauseAt - 1 || starts === STARTS) return { early, fence };
    await early.kill();
    await place.database.query("DELETE FROM journal");
  }
}

/** Reads what has happened, until the process waits for a line. Returns the fence of the lock that it has then. */
async function paused(process: DenoProcess): Promise<bigint> {
  for (;;) {
    const { value } = await process.lines.next();
    assert(value !== undefined, "the process has ended");
    const [what, fence] = value.split(" ");
    if (what === "held" || what === "guarded") return BigInt(fence!);
  }
}

async function rest(process: DenoProcess): Promise<string[]> {
  return (await process.output()).split("\n").filter((line) => line !== "");
}

for (const client of DATABASES) {
  for (const [where, { handles, pauseAt }] of Object.entries(LOCKS)) {
    const test = (name: string, run: (place: Place, options: WriterOptions) => Promise<void>) => {
      const fn = async () => {
        await using place = await Place.open(client);
        await using redis = where === "on Redis" ? await RedisServer.start() : undefined;
        const store = redis?.port ?? `${place.directory}/locks.db`;
        await run(place, { client, at: place.at, store, handles, pauseAt, lease: LEASE, pauseInside: false });
      };
      Deno.test({ name: `guard() over ${client} with the lock ${where}: ${name}`, fn, ignore: isMissing(client) });
    };

    test("a process paused past its lease commits nothing after its successor has", async (place, options) => {
      const { early: process, fence: stale } = await startedPaused(place, options);
      await using early = process;
      await using successor = start({ ...options, handles: 1, pauseAt: 1, lease: LONG_LEASE });
      const newer = await paused(successor);
      assert(newer > stale, `${newer} > ${stale}`);
      await successor.write("go on\n");
      assertEquals(await rest(successor), [`committed ${newer}`]);
      await early.write("go on\n");
      early.signal("SIGCONT");
      const lines = await rest(early);
      assert(lines.includes(`LockLostError ${stale}`), lines.join());
      const journal = await journalOf(place.database);
      assertEquals(journal.length, handles + 1);
      assertEquals(journal, [...journal].sort((a, b) => a < b ? -1 : 1));
      // Of one run, which the store has granted together.
      if (pauseAt > 1) assertEquals(journal[pauseAt - 2], stale - 1n);
      assertEquals([journal.indexOf(newer), journal.includes(stale)], [pauseAt - 1, false]);
    });

    test("a process paused inside its transaction commits before its successor does", async (place, options) => {
      const { early: process, fence: earlier } = await startedPaused(place, { ...options, pauseInside: true });
      await using early = process;
      await using successor = start({ ...options, handles: 1, pauseAt: 1, lease: LONG_LEASE });
      const newer = await paused(successor);
      await successor.write("go on\n");
      // It waits for the transaction of the paused process, which has no time limit here.
      await delay(300);
      const before = await journalOf(place.database);
      assertEquals(before.length, pauseAt - 1);
      await early.write("go on\n");
      early.signal("SIGCONT");
      const lines = await rest(early);
      assert(lines.includes(`committed ${earlier}`), lines.join());
      assertEquals(await rest(successor), [`committed ${newer}`]);
      const journal = await journalOf(place.database);
      assertEquals(journal.length, handles + 1);
      assertEquals(journal, [...journal].sort((a, b) => a < b ? -1 : 1));
      assertEquals(journal.slice(0, pauseAt), [...before, earlier]);
    });
  }
}
