import { type Commands, countCommands, resetCommands } from "../../../bench/commands.ts";
import { mean, median } from "../../../bench/statistics.ts";
import { compete, line, type PeerBench, portOf } from "../bench.ts";
import { type Contender, contenders, hire, lockName, type Place, type Run } from "../contender.ts";
import type { SectionsDone } from "../orders/sections.ts";
import type { Outcome, Result } from "../outcome.ts";
import type { Worker } from "../worker.ts";

const ROUNDS = 5;

/** How much there is to do: in one process, and in several. */
const WORKERS = 32;
const SECTIONS = 10;
const PROCESSES = 8;
const EACH = 100;

/** The longest that a round may take, in milliseconds. */
const LIMIT = 60_000;
const QUICK_LIMIT = 10_000;

/** What a round came to. */
interface Round {
  /** From the start until the last one is through, in milliseconds. */
  readonly total: number;
  readonly waits: number[];
  readonly failures: number;
  /** What the server executed, if it is one. */
  readonly commands: number | undefined;
}

/** Many workers of one process want one lock all the time. */
export async function contended(bench: PeerBench, place?: Place): Promise<Outcome[]> {
  await using workers = new AsyncDisposableStack();
  bench.stack.defer(() => workers.disposeAsync());
  const crew = new Map<Contender, Worker>();
  const sections = bench.quick ? 4 : SECTIONS;
  const all = contenders("waiting", bench.peers, bench.titles, place);
  const runs = await compete(all, ROUNDS, bench, async (who, round) => {
    const worker = crew.get(who) ?? await hire(who, [await portOf(who, bench)], workers);
    if (!crew.has(who)) await work([worker], lockName(who, "warm"), { workers: 4, sections: 2 }, bench);
    crew.set(who, worker);
    try {
      return await work([worker], lockName(who, `contended:${round}`), { workers: WORKERS, sections }, bench);
    } catch (error) {
      // What it has left running is not to disturb the others.
      await worker[Symbol.asyncDispose]();
      throw error;
    }
  });
  return [outcome("contended", `one lock, ${WORKERS} workers × ${sections} sections of 1 ms, one process`, runs)];
}

/** Several processes want one lock all the time. */
export async function processes(bench: PeerBench, place?: Place): Promise<Outcome[]> {
  const sections = bench.quick ? EACH / 5 : EACH;
  const rounds = bench.quick ? 1 : ROUNDS;
  const all = contenders("waiting", bench.peers, bench.titles, place);
  const runs = await compete(all, rounds, bench, async (who, round) => {
    await using workers = new AsyncDisposableStack();
    const port = await portOf(who, bench);
    bench.stack.defer(() => workers.disposeAsync());
    const crew = await Promise.all(Array.from({ length: PROCESSES }, () => hire(who, [port], workers)));
    await Promise.all(
      crew.map((worker, i) => work([worker], lockName(who, `warm:${i}`), { workers: 1, sections: 3 }, bench)),
    );
    return await work(crew, lockName(who, `processes:${round}`), { workers: 1, sections }, bench);
  });
  return [outcome("processes", `one lock, ${PROCESSES} processes × ${sections} sections of 1 ms`, runs)];
}

async function work(crew: Worker[], name: string, load: object, bench: PeerBench): Promise<Round> {
  const counter = bench.server.connect();
  await resetCommands(counter);
  const started = performance.now();
  const order = { do: "sections", name, ...load };
  const limit = bench.quick ? QUICK_LIMIT : LIMIT;
  try {
    const done = await Promise.all(crew.map((worker) => worker.ask<SectionsDone>(order, limit)));
    const total = performance.now() - started;
    const { all }: Commands = await countCommands(counter);
    return {
      total,
      waits: done.flatMap(({ waits }) => waits),
      failures: done.reduce((sum, { failures }) => sum + failures, 0),
      commands: all,
    };
  } finally {
    counter.disconnect();
  }
}

function outcome(row: string, title: string, runs: Run<Round>[]): Outcome {
  const results = runs.map((run) => line(run, (rounds) => values(rounds, run.contender)));
  return {
    row,
    title,
    best: "least",
    columns: [
      { key: "total", title: "total time", unit: "ms" },
      { key: "commands", title: "server commands per section", unit: "" },
      { key: "fairness", title: "longest wait / mean wait", unit: "" },
      { key: "longest", title: "longest wait", unit: "ms" },
      { key: "failures", title: "sections given up", unit: "" },
    ],
    results,
  };
}

function values(rounds: Round[], { peer }: Contender): Result["values"] {
  const some = rounds.filter(({ waits }) => waits.length > 0);
  const of = (value: (round: Round) => number) => some.length === 0 ? undefined : median(some.map(value));
  return {
    total: median(rounds.map(({ total }) => total)),
    commands: peer.broker || peer.database ? undefined : of(({ commands, waits }) => commands! / waits.length),
    fairness: of(({ waits }) => Math.max(...waits) / mean(waits)),
    longest: of(({ waits }) => Math.max(...waits)),
    failures: mean(rounds.map(({ failures }) => failures)),
  };
}
