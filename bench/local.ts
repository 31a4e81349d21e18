import { acquire, type Store } from "@holdfast/lock";
import { cohort } from "@holdfast/lock/cohort";
import { redis } from "@holdfast/lock/redis";
import type { Figure, Target } from "./figure.ts";
import { idlePing } from "./idle_ping.ts";
import { InstantStore } from "./instant_store.ts";
import { pause } from "./pause.ts";
import type { Bench } from "./row.ts";
import { median, summarize } from "./statistics.ts";

/** How long the queue is. */
const WAITERS = [1, 100, 1_000];

/** For each length, side and kind of section. */
const SECONDS = 2;

/** The part of the handoffs that come before those that count: the compiler of the runtime takes a while to be done. */
const WARM_UP = 1 / 4;

/** So many PINGs are measured before and after the handoffs. */
const PINGS = 30;

/** How the tasks have the lock in turn. */
interface Side {
  readonly name: string;
  readonly open: (store: Store, stack: AsyncDisposableStack) => Store;
  /** From how many waiting on the target counts. */
  readonly from: number;
}

/**
 * The members of a run stood in the queue when the lock was granted: if only one task waits, and the next one comes
 * after that has the lock, there is no run. The last side shows what acquire() and Lock take by themselves.
 */
const SIDES: readonly Side[] = [
  { name: "runs", open: (store) => store, from: 100 },
  { name: "keep 10", open: (store, stack) => stack.use(cohort(store, { keep: 10 })), from: 1 },
  { name: "without a store", open: () => new InstantStore(), from: Infinity },
];

/**
 * How long a section lasts, in milliseconds. Where nothing is done, a handoff is what it costs to run our code. After a
 * pause the processor must wake up first and has other things in its caches: for information.
 */
const HOLDS: readonly { readonly ms: number; readonly what: string; readonly target?: Target }[] = [
  { ms: 0, what: "nothing done", target: { bound: "at most", value: 0.1 } },
  { ms: 1, what: "1 ms each" },
];

/** From the call of `release` until the next task of the same process runs, against a PING of an idle server. */
export async function local({ server, scale, stack, progress }: Bench): Promise<Figure[]> {
  const client = server.connect();
  const figures: Figure[] = [];
  for (const { name, open, from } of SIDES) {
    for (const waiters of WAITERS) {
      for (const { ms, what, target } of HOLDS) {
        const title = `handoff inside a process, ${name}, ${waiters.toLocaleString("en")} waiting, ${what}`;
        progress(title);
        const store = open(redis(server.connect(), { prefix: `local:${name}:${waiters}:${ms}:` }), stack);
        const pings: number[] = [];
        while (pings.length < PINGS) pings.push(await idlePing(client));
        const times = await handoffs(store, waiters, ms, SECONDS * scale);
        while (pings.length < 2 * PINGS) pings.push(await idlePing(client));
        figures.push(compare(title, times, pings, waiters >= from ? target : undefined));
      }
    }
  }
  return figures;
}

/** Has tasks take a lock all the time, and returns the milliseconds from each release until the next one has it. */
async function handoffs(store: Store, waiters: number, hold: number, seconds: number): Promise<number[]> {
  const end = performance.now() + seconds * 1_000;
  const times: number[] = [];
  let released = NaN;
  await Promise.all(Array.from({ length: 1 + waiters }, async () => {
    do {
      const lock = await acquire(store, "local");
      const now = performance.now();
      // At the end the queue becomes shorter.
      if (now < end) times.push(now - released);
      if (hold > 0) await pause(hold);
      released = performance.now();
      await lock.release();
    } while (performance.now() < end);
  }));
  return times.slice(1 + Math.floor(times.length * WARM_UP));
}

function compare(what: string, times: number[], pings: number[], target: Target | undefined): Figure {
  const ours = summarize(times);
  const ping = median(pings);
  return {
    what: `${what}, p50`,
    ours: { value: ours.median, unit: "ms" },
    reference: { name: "PING", value: ping, unit: "ms" },
    ratio: ours.median / ping,
    ...target && { target },
    details: { ours, ping: summarize(pings) },
  };
}
