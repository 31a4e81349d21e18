import { acquire } from "@holdfast/lock";
import { BarePair } from "./bare.ts";
import type { Figure, Target } from "./figure.ts";
import { interleave } from "./rounds.ts";
import type { Bench } from "./row.ts";
import { median, ratios, summarize } from "./statistics.ts";

/** How many loops take locks at a time, how often each does in a round, and for how many seconds. */
interface Load {
  readonly loops: number;
  readonly pairs: number;
  readonly seconds: number;
}

/** One loop, one name. */
export async function uncontended(bench: Bench): Promise<Figure[]> {
  const load = { loops: 1, pairs: 400, seconds: 14 };
  return [await compare("uncontended acquire + release", load, { bound: "at least", value: 0.92 }, bench)];
}

/** Many loops in one process, on one connection, each with a name of its own. */
export async function concurrent(bench: Bench): Promise<Figure[]> {
  const load = { loops: 64, pairs: 20, seconds: 14 };
  return [await compare("64 concurrent, distinct names", load, { bound: "at least", value: 0.85 }, bench)];
}

async function compare(what: string, load: Load, target: Target, bench: Bench): Promise<Figure> {
  const { server, scale, progress } = bench;
  const [ours, reference] = [server.connect(), server.connect()];
  const bare = await BarePair.on(reference);
  const rounds = await interleave({
    // The keys are equally long: "lock:" is the default prefix.
    ours: () => everywhere(load, (loop) => section(ours, `ours:${loop}`)),
    reference: () => everywhere(load, (loop) => bare.run(`lock:bare:${loop}`)),
    seconds: load.seconds * scale,
    progress,
  });
  const pairs = load.loops * load.pairs;
  const perSecond = (times: number[]) => times.map((ms) => pairs / ms * 1_000);
  const comparison = ratios(rounds.reference, rounds.ours);
  return {
    what,
    ours: { value: median(perSecond(rounds.ours)), unit: "/s" },
    reference: { name: "bare pair", value: median(perSecond(rounds.reference)), unit: "/s" },
    ratio: median(comparison),
    target,
    details: {
      pairsPerRound: pairs,
      ratio: summarize(comparison),
      oursPerSecond: summarize(perSecond(rounds.ours)),
      referencePerSecond: summarize(perSecond(rounds.reference)),
    },
  };
}

async function everywhere({ loops, pairs }: Load, run: (loop: number) => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: loops }, async (_, loop) => {
    for (let pair = 0; pair < pairs; pair++) await run(loop);
  }));
}

/** As users write it. */
async function section(client: Parameters<typeof acquire>[0], name: string): Promise<void> {
  await using _lock = await acquire(client, name);
}
