import { acquire, type Store } from "@holdfast/lock";
import type { Figure } from "./figure.ts";
import { pause } from "./pause.ts";
import type { Bench } from "./row.ts";

/** Who waits where, while it is counted what they send. */
export interface WaitersOptions<T> {
  /** The stores among which the waiters are distributed. */
  readonly stores: readonly Store[];
  readonly waiters: number;
  /** Runs when all are in the queue. */
  readonly run: () => Promise<T>;
}

/** Holds a lock and has many wait for it, while a function runs. */
export async function whileWaiting<T>({ stores, waiters, run }: WaitersOptions<T>): Promise<T> {
  const held = await acquire(stores[0]!, "waiting");
  const over = new AbortController();
  const waits: Promise<unknown>[] = [];
  try {
    // One after the other: those who join a queue at the same time are in each other's way.
    while (waits.length < waiters) {
      const wait = acquire(stores[waits.length % stores.length]!, "waiting", { signal: over.signal });
      waits.push(wait.catch(() => {}));
      while ((await stores[0]!.query!({ name: "waiting" })).pending.length < waits.length) await pause(1);
    }
    return await run();
  } finally {
    over.abort("over");
    await Promise.all(waits);
    // Many may still be leaving the queue: then it ends with its lease.
    await held.release().catch(() => {});
  }
}

/** What a server has executed so far. */
export interface Executed {
  readonly statements: number;
  /** Rows that were written. */
  readonly writes: number;
}

/** Where waiters poll, or watch. */
export interface PollingOptions {
  /** The name of the server. */
  readonly name: string;
  /** How long it is counted. */
  readonly seconds?: number;
  readonly open: () => Store;
  readonly executed: () => Promise<Executed>;
}

const WAITERS = 100;
const SECONDS = 20;

/**
 * So long after all are in the queue it is counted, in milliseconds: they poll less and less often, up to a limit, and
 * the lock was renewed once.
 */
const SETTLED_MS = 12_000;

/** How much 100 waiters ask and write, each in a store of its own, as in as many processes. */
export async function polling(options: PollingOptions, { scale, progress }: Bench): Promise<Figure[]> {
  const seconds = (options.seconds ?? SECONDS) * scale;
  progress(`${WAITERS} waiters, for ${seconds.toFixed(0)} s`);
  const stores = Array.from({ length: WAITERS }, options.open);
  const [before, after] = await whileWaiting({
    stores,
    waiters: WAITERS,
    run: async () => {
      await pause(SETTLED_MS);
      const before = await options.executed();
      await pause(seconds * 1_000);
      return [before, await options.executed()] as const;
    },
  });
  const [statements, writes] = [after.statements - before.statements, after.writes - before.writes];
  const details = { statements, writes, seconds };
  return [
    {
      what: `${options.name}: statements per waiter and second, ${WAITERS} wait`,
      ours: { value: statements / WAITERS / seconds, unit: "" },
      target: { bound: "at most", value: 3 },
      details,
    },
    {
      what: `${options.name}: writes a second while ${WAITERS} wait`,
      ours: { value: writes / seconds, unit: "/s" },
      target: { bound: "at most", value: 1 },
      details,
    },
  ];
}
