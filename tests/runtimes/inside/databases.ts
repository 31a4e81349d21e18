/**
 * Tests of the stores in databases, and of `guard()`, over each client that the runtime has: a part of what they show
 * in Deno, with each thing that they ask of a client.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, type LockEvent, LockLostError, tryAcquire } from "@holdfast/lock";
import { guard, type GuardedLock } from "@holdfast/lock/guard";
import { postgres, type PostgresJsClient } from "@holdfast/lock/postgres";
import { runPostgres } from "../../../src/internal/sql/postgres_client.ts";
import { type ClientName, CLIENTS, type Database, journalOf, OPEN, TABLES } from "../../guard/databases.ts";
import { inTime } from "../../support/in_time.ts";
import { type DatabaseStore, listener, openStoreIn } from "../../support/database_store.ts";
import { replayed } from "../../support/replayed.ts";
import { until } from "../../support/until.ts";
import { tolerate } from "./runner.ts";
import { settings } from "./settings.ts";

/** For how long it is counted what a waiter asks, in milliseconds: a waiter that polls would ask five times. */
const COUNTED_MS = 2_500;

/** A database, and what keeps locks in it. */
interface Place {
  readonly name: string;
  readonly database: Database;
  /** Makes a store; each has a pool of its own, as another process has. */
  open(observer?: (event: LockEvent) => void): Promise<DatabaseStore["store"]>;
}

for (const [client, url] of Object.entries(settings.databases) as [ClientName, string][]) {
  const test = (what: string, run: (place: Place) => Promise<void>) => {
    Deno.test(`${client}: ${what}`, async () => {
      // With the sockets of Workers postgres.js leaves this behind when a connection is closed.
      if (globalThis.navigator?.userAgent === "Cloudflare-Workers") tolerate("Stream was cancelled.");
      await using stack = new AsyncDisposableStack();
      const database = stack.use(await OPEN[client](url));
      const open = async (observer?: (event: LockEvent) => void) => {
        return stack.use(await openStoreIn(client, url, observer === undefined ? {} : { observer })).store;
      };
      const place = { name: crypto.randomUUID(), database, open };
      await run(place);
      const store = await open();
      await until(async () => {
        const { held, pending } = await store.query({ name: place.name });
        return held.length + pending.length === 0;
      }, "nothing is left");
    });
  };

  test("acquire() waits for the holder, and is granted the lock with a larger fence", async ({ name, open }) => {
    const [here, there] = [await open(), await open()];
    const first = await acquire(here, name);
    const waiting = acquire(there, name);
    await until(async () => (await here.query({ name })).pending.length === 1, "it is in the queue");
    assertEquals(await tryAcquire(here, name), null);
    await first.release();
    await using second = await waiting;
    assert(second.fence > first.fence, `${second.fence} > ${first.fence}`);
  });

  test("acquire() steals the lock, and its holder is notified", async ({ name, open }) => {
    // Not by its next renewal.
    const first = await acquire(await open(), name, { lease: 3_600_000 });
    const { signal } = first;
    await using second = await acquire(await open(), name, { steal: true });
    await until(() => signal.aborted, "the holder is notified");
    assert(!first.held && second.held && second.fence > first.fence);
    await assertRejects(() => first.release(), LockLostError);
  });

  test("a lock is renewed for longer than its lease", async ({ name, open }) => {
    await replayed(async () => {
      let [renewals, isLost] = [0, false];
      const store = await open(({ type }) => {
        if (type === "renewed") renewals++;
        if (type === "lost") isLost = true;
      });
      await using lock = await acquire(store, name, { lease: 2_000, strict: false });
      await until(() => isLost || renewals >= 4, "it was renewed");
      const other = await tryAcquire(await open(), name);
      const isHeld = lock.held;
      await other?.release();
      // A slow moment may last longer than the lease.
      if (!isHeld) return "it was not renewed in time";
      assertEquals(other?.fence, undefined);
      return undefined;
    });
  });

  test("guard() rolls back the transaction of a stale holder", async ({ name, database, open }) => {
    for (const table of TABLES[CLIENTS[client]]) await database.query(table);
    const write = (lock: GuardedLock) =>
      database.transaction(async (tx, note) => {
        await note(lock.fence);
        await guard(tx, lock);
      });
    const [here, there] = [await open(), await open()];
    const early = await acquire(here, name);
    await write(early);
    const stale: GuardedLock = { name, fence: early.fence, held: true, mode: "exclusive", permits: undefined };
    await early.release();
    await using late = await acquire(there, name);
    await write(late);
    await assertRejects(() => write(stale), LockLostError);
    assertEquals(await journalOf(database), [early.fence, late.fence]);
  });

  if (CLIENTS[client] !== "postgres") continue;

  test("acquire() is woken by a notification, and does not poll", async ({ name, database, open }) => {
    await using other = await OPEN[client](url);
    const [pool] = await other.outside() as [PostgresJsClient];
    let statements = 0;
    const query = async (text: string) => {
      statements++;
      return { rows: await runPostgres(pool, text) };
    };
    const first = await acquire(await open(), name, { lease: 60_000 });
    const waiting = acquire(postgres({ query }, { listen: await listener(client, url, pool) }), name);
    const listening = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE 'listen%'`;
    await until(async () => (await database.query(listening)).length === 1, "it listens");
    const before = statements;
    await new Promise((resolve) => setTimeout(resolve, COUNTED_MS));
    // One when it begins to listen, and one every 5 s.
    assert(statements - before <= 3, `it asked ${statements - before} times`);
    await first.release();
    await (await inTime(waiting, COUNTED_MS, "it is woken")).release();
  });
}
