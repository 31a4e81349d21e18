import { acquire, type Store } from "@holdfast/lock";
import { cohort } from "@holdfast/lock/cohort";
import { redis } from "@holdfast/lock/redis";
import { BarePair } from "./bare.ts";
import type { Figure } from "./figure.ts";
import type { Bench } from "./row.ts";
import { median, ratios, summarize } from "./statistics.ts";
import { takeTurns } from "./turns.ts";
import { pause } from "./pause.ts";

const LINGER = 10;

/** How long a round lasts, in milliseconds, and how many of each side count. */
const ROUND = 100;
const ROUNDS = 40;

/** So many rounds of each side come before those that count: the compiler of the runtime takes a while to be done. */
const WARM_UP = 3;

/** What is taken again and again, and with what that is compared. */
export interface RepeatedOptions {
  readonly what: string;
  readonly store: Store;
  /** The bare pair of the same server. */
  readonly bare: () => Promise<void>;
  /** How many times the rate of that is to be reached. */
  readonly least: number;
}

/** One task takes the lock of the same name again and again, while the process keeps it in between. */
export async function repeated(bench: Bench): Promise<Figure[]> {
  const { server } = bench;
  const bare = await BarePair.on(server.connect());
  const what = "the same name again";
  return [
    await repeat(
      { what, store: redis(server.connect()), bare: () => bare.run("lock:repeated:bare"), least: 30 },
      bench,
    ),
  ];
}

/** Measures that on a store. */
export async function repeat(options: RepeatedOptions, { stack, scale, progress }: Bench): Promise<Figure> {
  const store = stack.use(cohort(options.store, { keep: LINGER, linger: LINGER }));
  const sides = [options.bare, async () => {
    await using _lock = await acquire(store, "repeated:ours");
  }] as const;
  let done = 0;
  const rates = await takeTurns({
    sides: sides.length,
    rounds: WARM_UP + Math.max(2, Math.round(ROUNDS * scale)),
    measure: async (side) => {
      const rate = await perSecond(sides[side]!);
      progress(`${++done} rounds`);
      // What is handed on inside the process never waits for anything: let the event loop turn.
      await pause(0);
      return rate;
    },
  });
  const [reference, ours] = rates.map((each) => each.slice(WARM_UP)) as [number[], number[]];
  const comparison = ratios(ours, reference);
  return {
    what: `${options.what}, linger ${LINGER}`,
    ours: { value: median(ours), unit: "/s" },
    reference: { name: "bare pair", value: median(reference), unit: "/s" },
    ratio: median(comparison),
    target: { bound: "at least", value: options.least },
    details: {
      ratio: summarize(comparison),
      oursPerSecond: summarize(ours),
      referencePerSecond: summarize(reference),
    },
  };
}

async function perSecond(run: () => Promise<void>): Promise<number> {
  const started = performance.now();
  let done = 0;
  for (; performance.now() - started < ROUND; done++) await run();
  return done / (performance.now() - started) * 1_000;
}
