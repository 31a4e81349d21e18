import { median, quantile } from "../../../bench/statistics.ts";
import { compete, line, type PeerBench, portOf } from "../bench.ts";
import { type Contender, contenders, hire, lockName, type Run } from "../contender.ts";
import type { HandoffsDone } from "../orders/handoffs.ts";
import type { Column, Outcome, Result } from "../outcome.ts";

/** How long the queue is. */
export const WAITERS = [1, 10, 100, 1_000] as const;

const ROUNDS = 5;

/** For each length and round. */
const SECONDS = 3;
const QUICK_SECONDS = 1.5;

/** What a library gets besides, in milliseconds, before it is cut off. */
const GRACE = 15_000;
const QUICK_GRACE = 6_000;

/** From the call of release until the next holder runs. */
export async function handoff(bench: PeerBench): Promise<Outcome[]> {
  const all = contenders("waiting", bench.peers, bench.titles);
  const lengths: { waiters: number; runs: Run<HandoffsDone>[] }[] = [];
  for (const waiters of WAITERS) {
    const seconds = bench.quick ? QUICK_SECONDS : SECONDS;
    const limit = seconds * 1_000 + (bench.quick ? QUICK_GRACE : GRACE);
    const runs = await compete(all, bench.quick ? 1 : ROUNDS, bench, async (who, round) => {
      bench.progress(`${waiters} waiting, round ${round + 1}: ${who.title}`);
      // A process for each: its waiters end with it.
      await using workers = new AsyncDisposableStack();
      bench.stack.defer(() => workers.disposeAsync());
      const port = await portOf(who, bench);
      const worker = await hire(who, [port], workers);
      const counted = who.peer.broker ? {} : { port };
      const name = lockName(who, `handoff:${waiters}:${round}`);
      return await worker.ask<HandoffsDone>({ do: "handoffs", name, waiters, seconds, ...counted }, limit);
    });
    lengths.push({ waiters, runs });
  }
  return [{
    row: "handoff",
    title: "from the call of release until the next holder runs",
    best: "least",
    columns: WAITERS.flatMap(columns),
    results: all.map((who, place) => result(who, lengths.map(({ waiters, runs }) => ({ waiters, run: runs[place]! })))),
  }];
}

function columns(waiters: number): Column[] {
  const many = `${waiters.toLocaleString("en")} waiting`;
  const timed = ["p50", "p99"].map((part) => ({ key: `${part}:${waiters}`, title: `${part}, ${many}`, unit: "ms" }));
  return waiters < 100 ? timed : [...timed, { key: `commands:${waiters}`, title: `commands each, ${many}`, unit: "" }];
}

function result(contender: Contender, lengths: { waiters: number; run: Run<HandoffsDone> }[]): Result {
  const results = lengths.map(({ waiters, run }) => ({ waiters, ...line(run, (rounds) => values(waiters, rounds)) }));
  const notes = results.flatMap(({ waiters, note }) => note === undefined ? [] : [`${waiters} waiting: ${note}`]);
  const whole: Run<Result> = { contender, results, ...(notes.length > 0 ? { note: notes.join("; ") } : {}) };
  return line(whole, (parts) => Object.assign({}, ...parts.map(({ values }) => values)));
}

function values(waiters: number, rounds: HandoffsDone[]): Result["values"] {
  const medians = rounds.filter(({ times }) => times.length > 0).map(({ times }) => median(times));
  const commands = rounds.flatMap(({ commands }) => commands ?? []);
  return {
    [`p50:${waiters}`]: median(medians),
    // A tail needs all the samples that there are.
    [`p99:${waiters}`]: quantile(rounds.flatMap(({ times }) => times), 0.99),
    [`commands:${waiters}`]: commands.length === 0 ? undefined : median(commands),
  };
}
