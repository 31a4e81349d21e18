/**
 * Holds many locks and counts what becomes of them. Run by `held.ts`, with its options as JSON; prints the outcome.
 *
 * @module
 */
import { Redis } from "ioredis";
import { acquire, isLockLost, type Lock, type Observer } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { countCommands, resetCommands } from "./commands.ts";
import { pause } from "./pause.ts";

/** What is to be held; durations in milliseconds. */
export interface HeldOptions {
  readonly port: number;
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
  /** What the server executed while the locks were held: scripts, and everything. */
  readonly scripts: number;
  readonly commands: number;
  /** Bytes of heap that all locks together take: when they have been taken, after renewals, and with their signals. */
  readonly heapWhenTaken: number;
  readonly heapWhenRenewed: number;
  readonly heapWithSignals: number;
}

/** So many acquires are under way at a time. */
const BATCH = 500;

async function main({ port, locks: count, lease, hold }: HeldOptions): Promise<Held> {
  // Outside of the heap, so that the counting is not counted.
  const renewals = new Uint32Array(count);
  let faults = 0;
  const observer: Observer = (event) => {
    if (event.type === "renewed") renewals[Number(event.name)]!++;
    if (event.type === "fault") faults++;
  };
  const client = new Redis(port, "127.0.0.1");
  const store = redis(client, { observer });
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
  await resetCommands(client);
  renewals.fill(0);
  await pause(hold);
  const { scripts, all } = await countCommands(client);
  const renewed = renewals.reduce((sum, times) => sum + times, 0);
  const holding = heap();
  // Asking for it makes it, which most holders never do.
  const aborted = locks.filter((lock) => lock?.signal.aborted).length;
  const listening = heap();
  const kept = await give();
  client.disconnect();
  return {
    kept,
    aborted,
    renewals: renewed,
    faults,
    scripts,
    commands: all,
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
