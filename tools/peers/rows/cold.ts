import { median } from "../../../bench/statistics.ts";
import { compete, line, type PeerBench, portOf } from "../bench.ts";
import type { Cold } from "../cold_process.ts";
import { type Contender, contenders, lockName } from "../contender.ts";
import { denoArguments, UNSAFE_PROTO } from "../deno_arguments.ts";
import type { Outcome } from "../outcome.ts";

const PAIRS = 100;
const ROUNDS = 15;
const QUICK_ROUNDS = 5;

/** How long a process may take, in milliseconds. */
const LIMIT = 30_000;

/** The first locks of a process: what a script, a cron job or a function that has just been started sees. */
export async function cold(bench: PeerBench): Promise<Outcome[]> {
  const all = contenders("free", bench.peers, bench.titles);
  const rounds = bench.quick ? QUICK_ROUNDS : ROUNDS;
  const runs = await compete(all, rounds, bench, async (who) => await run(who, await portOf(who, bench)));
  const bare = runs.find(({ contender }) => contender.peer.bare)?.results ?? [];
  return [{
    row: "cold",
    title: `the first ${PAIRS} of a process, from the import to the last release`,
    best: "least",
    columns: [
      { key: "total", title: "time", unit: "ms" },
      { key: "ratio", title: "of the bare pair", unit: "" },
    ],
    results: runs.map((run) =>
      line(run, (times) => ({
        total: median(times),
        ratio: median(times.map((ms, round) => ms / bare[round]!)),
      }))
    ),
  }];
}

async function run({ peer, tuned, ...contender }: Contender, port: number): Promise<number> {
  // A new one for each process: what a former one left behind does not stand in the way.
  const name = `${lockName({ peer, tuned, ...contender }, "cold")}:${crypto.randomUUID()}`;
  const order: Cold = { peer: peer.id, tuned, ports: [port], name, pairs: PAIRS };
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: denoArguments("cold_process.ts", peer.broker ? [UNSAFE_PROTO] : [], [JSON.stringify(order)]),
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.timeout(LIMIT),
  }).output();
  const text = new TextDecoder().decode(stdout);
  const took = /^=> (.*)$/m.exec(text)?.[1];
  if (!success || took === undefined) throw new Error(`the process ended: ${new TextDecoder().decode(stderr).trim()}`);
  return Number(took);
}
