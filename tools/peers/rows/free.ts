import { cpuTime } from "../../../bench/commands.ts";
import { median } from "../../../bench/statistics.ts";
import { compete, line, type PeerBench, portOf } from "../bench.ts";
import { type Contender, contenders, hire, lockName, type Place, type Run } from "../contender.ts";
import type { PairsDone } from "../orders/pairs.ts";
import type { Outcome } from "../outcome.ts";
import type { Worker } from "../worker.ts";

/** Many short rounds: what disturbs one of them disturbs its neighbours alike. */
const ROUNDS = 25;
const QUICK_ROUNDS = 9;

/**
 * How many rounds come before those that count, and how much longer they are: V8 has compiled all of a library, and of
 * its client, after about 10,000 pairs. With 1,600 the larger ones took a third more of the processor.
 */
const WARM_UPS = 4;
const WARM_UP_FACTOR = 10;

/** The longest that a round may take, in milliseconds. */
const LIMIT = 30_000;

/** Where the locks are, how many loops take them at a time, and how often each does in a round. */
export interface Load {
  readonly ports: (contender: Contender) => Promise<readonly number[]>;
  readonly loops: number;
  readonly pairs: number;
  /** How long the processor has worked for the server, in milliseconds; that of Redis when left out. */
  readonly serverMs?: () => Promise<number>;
}

/** What a round came to, for each acquire and release. */
interface Round {
  readonly rate: number;
  /** Time of the processor, in microseconds: of the process, and of the server. */
  readonly client: number;
  readonly server: number;
}

/** Measures one loop on one name. */
export async function uncontended(bench: PeerBench): Promise<Outcome[]> {
  return [await free("uncontended", "acquire + release, one at a time", { loops: 1, pairs: 400 }, bench)];
}

/** Many loops in one process, each with a name of its own. */
export async function concurrent(bench: PeerBench): Promise<Outcome[]> {
  return [await free("concurrent", "acquire + release, 64 names at a time", { loops: 64, pairs: 30 }, bench)];
}

/** Measures the libraries in one place, on one server. */
export async function free(
  row: string,
  title: string,
  load: Pick<Load, "loops" | "pairs" | "serverMs">,
  bench: PeerBench,
  place?: Place,
): Promise<Outcome> {
  const ports = async (contender: Contender) => [await portOf(contender, bench)];
  const runs = await compare(contenders("free", bench.peers, bench.titles, place), { ports, ...load }, bench);
  return comparison(row, title, "of the bare pair", runs);
}

/** Measures locks that nobody else wants, in turns. */
export async function compare(all: readonly Contender[], load: Load, bench: PeerBench): Promise<Run<Round>[]> {
  await using workers = new AsyncDisposableStack();
  bench.stack.defer(() => workers.disposeAsync());
  const crew = new Map<Contender, Worker>();
  const work = async (contender: Contender, pairs: number): Promise<Round> => {
    const total = load.loops * pairs;
    const worker = crew.get(contender) ?? await hire(contender, await load.ports(contender), workers);
    crew.set(contender, worker);
    const before = await serverMs();
    const order = { do: "pairs", name: lockName(contender, "free"), loops: load.loops, pairs };
    const { took, cpu } = await worker.ask<PairsDone>(order, LIMIT);
    const server = await serverMs() - before;
    return { rate: total / took * 1_000, client: cpu / total * 1_000, server: server / total * 1_000 };
  };
  const counter = bench.server.connect();
  const serverMs = load.serverMs ?? (() => cpuTime(counter));
  // Workers start, connect and compile before it counts.
  await compete(all, WARM_UPS, bench, (contender) => work(contender, WARM_UP_FACTOR * load.pairs));
  const rounds = bench.quick ? QUICK_ROUNDS : ROUNDS;
  const runs = await compete(all, rounds, bench, (contender) => work(contender, load.pairs));
  counter.disconnect();
  return runs;
}

/** The table of such a comparison. */
export function comparison(row: string, title: string, ratio: string, runs: Run<Round>[]): Outcome {
  const bare = runs.find(({ contender }) => contender.peer.bare)?.results ?? [];
  return {
    row,
    title,
    best: "most",
    columns: [
      { key: "ratio", title: ratio, unit: "" },
      { key: "rate", title: "per second", unit: "/s" },
      { key: "client", title: "processor time of the client", unit: "µs" },
      { key: "server", title: "and of the server", unit: "µs" },
    ],
    results: runs.map((run) =>
      line(run, (rounds) => ({
        // Each round beside its neighbour: what slows down both of them cancels out.
        ratio: median(rounds.map(({ rate }, round) => rate / bare[round]!.rate)),
        rate: median(rounds.map(({ rate }) => rate)),
        client: median(rounds.map(({ client }) => client)),
        server: run.contender.peer.broker ? undefined : median(rounds.map(({ server }) => server)),
      }))
    ),
  };
}
