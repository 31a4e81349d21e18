import { acquire, type Observer, type Store } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { sqlite } from "@holdfast/lock/sqlite";
import process from "node:process";
import type { Figure } from "./figure.ts";
import { pause } from "./pause.ts";
import { relay } from "./relay.ts";
import type { Bench } from "./row.ts";
import { median, summarize } from "./statistics.ts";

/** How long each figure is measured, and how many sections make a round. */
const SECONDS = 2.5;
const ROUND = 200;

/** Measures the stores that need no server, for information. */
export async function embedded(bench: Bench): Promise<Figure[]> {
  const { directory, stack } = bench;
  const file = (name: string) => (observer: Observer) => {
    const store = sqlite(`${directory}/${name}.db`, { observer });
    stack.defer(() => store.close());
    return store;
  };
  let shared: Store | undefined;
  return [
    await pairs("SQLite", file("pairs")(() => {}), bench),
    await handoffs("SQLite, two connections", file("handoff"), 1, bench),
    await handoffs("SQLite, 100 waiters", file("queue"), 100, bench),
    await idle("SQLite, 1,000 waiters", file("idle")(() => {}), bench),
    await pairs("memory", memory(), bench),
    await handoffs("memory", (observer) => shared ??= memory({ observer }), 1, bench),
  ];
}

async function pairs(name: string, store: Store, { scale, progress }: Bench): Promise<Figure> {
  const rates: number[] = [];
  const end = performance.now() + SECONDS * scale * 1_000;
  for (let round = 0; performance.now() < end || rates.length < 2; round++) {
    const started = performance.now();
    for (let pair = 0; pair < ROUND; pair++) {
      await using _lock = await acquire(store, "pairs");
    }
    // The first round is the compiler's.
    if (round > 0) rates.push(ROUND / (performance.now() - started) * 1_000);
    progress(`${name}, ${rates.length} rounds`);
    // These stores never wait for anything: let the event loop turn, so that Ctrl-C is handled.
    await pause(0);
  }
  const details = { perSecond: summarize(rates) };
  return { what: `${name}: acquire + release`, ours: { value: median(rates), unit: "/s" }, details };
}

async function handoffs(
  name: string,
  open: (observer: Observer) => Store,
  waiters: number,
  bench: Bench,
): Promise<Figure> {
  const progress = (text: string) => bench.progress(`${name}, ${text}`);
  const times = await relay({ open, waiters, seconds: SECONDS * bench.scale, progress });
  const details = { times: summarize(times) };
  return { what: `${name}: handoff, p50`, ours: { value: median(times), unit: "ms" }, details };
}

/**
 * How many wait in {@linkcode idle}; for how long before it is measured, as each asks once more in its first second;
 * how often the event loop is asked whether it turns, in milliseconds; and what is to be reached.
 */
const IDLE = { waiters: 1_000, settle: 2_000, look: 10, target: { bound: "at most", value: 5 } } as const;

/**
 * Measures what it costs a process to wait: the part of a processor that it takes, and for how long its event loop
 * stands still.
 */
async function idle(name: string, store: Store, { scale, progress }: Bench): Promise<Figure> {
  const over = new AbortController();
  const lock = await acquire(store, "idle");
  const waiting = Array.from({ length: IDLE.waiters }, () => acquire(store, "idle", { signal: over.signal }));
  // All of them stand in the queue before it begins.
  while ((await store.query!()).pending.length < IDLE.waiters) await pause(IDLE.look);
  await pause(IDLE.settle);
  const [started, used] = [performance.now(), process.cpuUsage()];
  const lags: number[] = [];
  for (let last = started; last < started + SECONDS * scale * 1_000;) {
    await pause(IDLE.look);
    lags.push(performance.now() - last - IDLE.look);
    last = performance.now();
    progress(`${name}, ${lags.length} looks`);
  }
  const { user, system } = process.cpuUsage(used);
  const busy = (user + system) / 1_000 / (performance.now() - started) * 100;
  over.abort("over");
  await Promise.allSettled(waiting);
  await lock.release();
  return {
    what: `${name}: processor`,
    ours: { value: busy, unit: "%" },
    target: IDLE.target,
    details: { lags: summarize(lags) },
  };
}
