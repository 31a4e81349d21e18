/**
 * Holds many locks and counts what becomes of them. Run by `held.ts`, with its options as JSON; prints the outcome.
 *
 * @module
 */
import { Redis } from "ioredis";
import connect from "postgres";
import { acquire, isLockLost, type Lock, type Observer, type Store } from "@holdfast/lock";
import { etcd } from "@holdfast/lock/etcd";
import { postgres, type PostgresJsClient } from "@holdfast/lock/postgres";
import { redis } from "@holdfast/lock/redis";
import { countCommands } from "./commands.ts";
import { etcdCounts } from "./etcd.ts";
import { pause } from "./pause.ts";

/** What is to be held; durations in milliseconds. */
export interface HeldOptions {
  /** Where the server is: `redis:`, `postgres:`, or `http:` for etcd. */
  readonly url: string;
  readonly locks: number;
  readonly lease: number;
  readonly hold: number;
}

/** What became of the locks. */
export interface Held {
  /** Locks that were renewed and still held when they were released. */
  readonly kept: number;
  /** Locks whose signal had aborted before. */
  readonly aborted: number;
  /** All renewals together. */
  readonly renewals: number;
  /** Calls to the store that failed, lost locks or not. */
  readonly faults: number;
  /** What the server has counted before the locks were held, and after that. */
  readonly counted: readonly [Counts, Counts];
  /** Bytes of heap that all locks together take: when they have been taken, after renewals, and with their signals. */
  readonly heapWhenTaken: number;
  readonly heapWhenRenewed: number;
  readonly heapWithSignals: number;
}

/** What a server counts. */
export type Counts = Readonly<Record<string, number>>;

/** Where the locks are. */
interface Place {
  readonly store: Store;
  count(): Promise<Counts>;
  end(): Promise<unknown> | void;
}

/** How long the requests of so many holders may take, in milliseconds. */
const ANSWERED_MS = 5_000;

/** So many acquires are under way at a time. */
const BATCH = 500;

function open(url: string, observer: Observer): Place {
  if (url.startsWith("postgres:")) {
    const client = connect(url, { max: 10, onnotice: () => {} });
    return {
      store: postgres(client as unknown as PostgresJsClient, { observer }),
      count: async () => ({ ...(await client.unsafe<Record<string, number>[]>(TABLE))[0] }),
      // Without it, statements that are still queued would open connections again, which nobody closes.
      end: () => client.end({ timeout: 0 }),
    };
  }
  if (url.startsWith("http:")) {
    return { store: etcd({ endpoints: [url], observer }), count: () => etcdCounts(url), end: () => {} };
  }
  const client = new Redis(url);
  return {
    store: redis(client, { observer }),
    count: async () => ({ ...await countCommands(client) }),
    end: () => client.disconnect(),
  };
}

/** What PostgreSQL counts of the table, and how large that and its index are, in bytes. */
const TABLE = `SELECT n_tup_upd::float8 AS updates, n_tup_hot_upd::float8 AS hot, n_dead_tup::float8 AS dead,
  autovacuum_count::float8 AS vacuums, pg_table_size(relid)::float8 AS table, pg_indexes_size(relid)::float8 AS index
  FROM pg_stat_user_tables WHERE relname = 'holdfast_locks'`;

async function main({ url, locks: count, lease, hold }: HeldOptions): Promise<Held> {
  // Outside of the heap, so that the counting is not counted.
  const renewals = new Uint32Array(count);
  let faults = 0;
  const observer: Observer = (event) => {
    if (event.type === "renewed") renewals[Number(event.name)]!++;
    if (event.type === "fault") faults++;
  };
  const { store, count: counts, end } = open(url, observer);
  const names = Array.from({ length: count }, (_, place) => String(place));
  const locks = new Array<Lock | undefined>(count).fill(undefined);
  const take = (places: number) =>
    inBatches(places, async (place) => {
      locks[place] = await acquire(store, names[place]!, { lease });
    });
  /** Gives how many were renewed and are held to the end. */
  const give = async () => {
    let kept = 0;
    await inBatches(count, async (place) => {
      const lock = locks[place];
      locks[place] = undefined;
      try {
        await lock?.release();
        if (renewals[place]! > 0) kept++;
      } catch (error) {
        if (!isLockLost(error)) throw error;
      }
    });
    return kept;
  };

  // Code is compiled and tables have grown before it counts.
  await take(count / 5);
  await give();
  const empty = heap();
  await take(count);
  const taken = heap();
  const before = await counts();
  renewals.fill(0);
  await pause(hold);
  const after = await counts();
  const renewed = renewals.reduce((sum, times) => sum + times, 0);
  const holding = heap();
  // Asking for it makes it, which most holders never do.
  const aborted = locks.filter((lock) => lock?.signal.aborted).length;
  // Until the store has answered, each has requests on their way.
  await pause(ANSWERED_MS);
  const listening = heap();
  const kept = await give();
  await end();
  return {
    kept,
    aborted,
    renewals: renewed,
    faults,
    counted: [before, after],
    heapWhenTaken: taken - empty,
    heapWhenRenewed: holding - empty,
    heapWithSignals: listening - empty,
  };
}

async function inBatches(count: number, run: (place: number) => Promise<void>): Promise<void> {
  for (let start = 0; start < count; start += BATCH) {
    const length = Math.min(BATCH, count - start);
    await Promise.all(Array.from({ length }, (_, offset) => run(start + offset)));
  }
}

function heap(): number {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) throw new Error("needs --v8-flags=--expose-gc");
  gc();
  return Deno.memoryUsage().heapUsed;
}

console.log(JSON.stringify(await main(JSON.parse(Deno.args[0] ?? ""))));
