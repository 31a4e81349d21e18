import { countCommands, resetCommands } from "../../../bench/commands.ts";
import { reason } from "../../../tests/support/interruption.ts";
import { masters } from "../../../bench/masters.ts";
import { pause } from "../../../bench/pause.ts";
import { line, type PeerBench } from "../bench.ts";
import { type Contender, contenders, hire, type Run } from "../contender.ts";
import type { Outcome } from "../outcome.ts";

/** How many wait for a lock that nobody gives back, and for how many seconds. */
const WAITERS = 100;
const SECONDS = 20;
const QUICK_SECONDS = 6;

/** So many libraries are measured at a time, each with a server of its own: only commands are counted. */
const AT_A_TIME = 4;

/** How long the waiters may take to wait, in milliseconds. */
const LIMIT = 30_000;

/** What it costs the server when many wait. */
export async function idle(bench: PeerBench): Promise<Outcome[]> {
  const rest = contenders("waiting", bench.peers, bench.titles).filter(({ peer }) => !peer.broker);
  const runs: Run<number>[] = [];
  while (rest.length > 0) {
    bench.progress(`${rest.length} to go`);
    runs.push(...await Promise.all(rest.splice(0, AT_A_TIME).map((who) => count(who, bench))));
  }
  return [{
    row: "idle",
    title: `${WAITERS} wait for a lock that is held`,
    best: "least",
    columns: [{ key: "commands", title: "server commands per waiter and minute", unit: "" }],
    results: runs.map((run) => line(run, ([commands]) => ({ commands }))),
  }];
}

async function count(contender: Contender, bench: PeerBench): Promise<Run<number>> {
  await using stack = new AsyncDisposableStack();
  bench.stack.defer(() => stack.disposeAsync());
  try {
    const [server] = await masters(1, stack);
    const worker = await hire(contender, [server!.port], stack);
    await worker.ask({ do: "idle", name: "idle", waiters: WAITERS }, LIMIT);
    const client = server!.connect();
    await resetCommands(client);
    const seconds = bench.quick ? QUICK_SECONDS : SECONDS;
    await pause(seconds * 1_000);
    const { all } = await countCommands(client);
    return { contender, results: [all / WAITERS / seconds * 60] };
  } catch (error) {
    return { contender, results: [], note: reason(error) };
  }
}
