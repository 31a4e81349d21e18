import { acquire, type AcquireOptions, type LockTarget } from "@holdfast/lock";
import { BarePair } from "./bare.ts";
import type { Figure, Target } from "./figure.ts";
import { RawScripts } from "./raw_scripts.ts";
import { interleave, type Rounds } from "./rounds.ts";
import type { Bench } from "./row.ts";
import { median, ratios, summarize } from "./statistics.ts";

/** How many loops take locks at a time, how often each does in a round, and for how many seconds. */
export interface Load {
  readonly loops: number;
  readonly pairs: number;
  readonly seconds: number;
}

/** What is measured against what: each takes a lock and gives it back, in the loop of that number. */
export interface Contest {
  readonly what: string;
  readonly ours: (loop: number) => Promise<void>;
  readonly reference: (loop: number) => Promise<void>;
  readonly against: string;
  readonly target?: Target;
}

/** Measures one loop on one name. */
export async function uncontended(bench: Bench): Promise<Figure[]> {
  const load = { loops: 1, pairs: 400, seconds: 14 };
  const target = { bound: "at least", value: 0.92 } as const;
  const [raw, bare] = [await RawScripts.on(bench.server.connect()), await BarePair.on(bench.server.connect())];
  return [
    await compare(await toBarePair("uncontended acquire + release", target, bench), load, bench),
    await compare(
      {
        what: "its two scripts by themselves",
        ours: (loop) => raw.run(`lock:ours:${loop}`),
        reference: (loop) => bare.run(`lock:bare:${loop}`),
        against: "bare pair",
      },
      load,
      bench,
    ),
  ];
}

/** Many loops in one process, on one connection, each with a name of its own. */
export async function concurrent(bench: Bench): Promise<Figure[]> {
  const load = { loops: 64, pairs: 20, seconds: 14 };
  const target = { bound: "at least", value: 0.85 } as const;
  return [await compare(await toBarePair("64 concurrent, distinct names", target, bench), load, bench)];
}

/** Measures the other kinds of lock against the exclusive one. */
export async function kinds(bench: Bench): Promise<Figure[]> {
  const load = { loops: 1, pairs: 400, seconds: 10 };
  const [ours, reference] = [bench.server.connect(), bench.server.connect()];
  const kinds: [string, AcquireOptions][] = [["shared", { mode: "shared" }], ["permits", { permits: 8 }]];
  const figures: Figure[] = [];
  for (const [what, options] of kinds) {
    const contest: Contest = {
      what: `${what} acquire + release`,
      ours: (loop) => section(ours, `ours:${loop}`, options),
      reference: (loop) => section(reference, `them:${loop}`),
      against: "exclusive",
      target: { bound: "at least", value: 0.9 },
    };
    figures.push(await compare(contest, load, bench));
  }
  return figures;
}

async function toBarePair(what: string, target: Target, { server }: Bench): Promise<Contest> {
  const client = server.connect();
  const bare = await BarePair.on(server.connect());
  return {
    what,
    // The keys are equally long: "lock:" is the default prefix.
    ours: (loop) => section(client, `ours:${loop}`),
    reference: (loop) => bare.run(`lock:bare:${loop}`),
    against: "bare pair",
    target,
  };
}

/** Measures a contest under a load. */
export async function compare(contest: Contest, load: Load, { scale, progress }: Bench): Promise<Figure> {
  const rounds = await interleave({
    ours: () => everywhere(load, contest.ours),
    reference: () => everywhere(load, contest.reference),
    seconds: load.seconds * scale,
    progress,
  });
  return figureOf(contest, load.loops * load.pairs, rounds);
}

/** Returns the figure of rounds of so many pairs each. */
export function figureOf(
  { what, against, target }: Pick<Contest, "what" | "against" | "target">,
  pairs: number,
  rounds: Rounds,
): Figure {
  const perSecond = (times: number[]) => times.map((ms) => pairs / ms * 1_000);
  const comparison = ratios(rounds.reference, rounds.ours);
  return {
    what,
    ours: { value: median(perSecond(rounds.ours)), unit: "/s" },
    reference: { name: against, value: median(perSecond(rounds.reference)), unit: "/s" },
    ratio: median(comparison),
    ...target && { target },
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
async function section(client: LockTarget, name: string, options?: AcquireOptions): Promise<void> {
  await using _lock = await acquire(client, name, options);
}
