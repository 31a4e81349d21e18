import { median } from "../../../bench/statistics.ts";
import { compete, line, type PeerBench } from "../bench.ts";
import { contenders, hire } from "../contender.ts";
import type { Held } from "../orders/holding.ts";
import type { Outcome } from "../outcome.ts";

const LOCKS = 10_000;
const ROUNDS = 5;

/** In milliseconds. */
const LEASE = 9_000;
const QUICK_LEASE = 4_500;

/** How often each lock is renewed. */
const RENEWALS = 3;

/** How long the rest may take, in milliseconds. */
const GRACE = 60_000;

/** Many locks held by one process, with the renewal of the library. */
export async function held(bench: PeerBench): Promise<Outcome[]> {
  const lease = bench.quick ? QUICK_LEASE : LEASE;
  const all = contenders("holding", bench.peers, bench.titles);
  const runs = await compete(all, bench.quick ? 1 : ROUNDS, bench, async (who) => {
    await using workers = new AsyncDisposableStack();
    bench.stack.defer(() => workers.disposeAsync());
    const client = bench.server.connect();
    await client.flushall();
    client.disconnect();
    const worker = await hire(who, [bench.server.port], workers);
    const hold = who.peer.interval!(lease) * RENEWALS;
    const order = { do: "holding", port: bench.server.port, locks: LOCKS, lease, hold };
    return { ...await worker.ask<Held>(order, hold + GRACE), hold };
  });
  return [{
    row: "held",
    title: `${LOCKS.toLocaleString("en")} locks held by one process for three renewals`,
    best: "least",
    columns: [
      { key: "cpu", title: "processor time per renewal", unit: "µs" },
      { key: "heap", title: "heap per lock", unit: "KB" },
      { key: "rate", title: "renewals", unit: "/s" },
      { key: "failures", title: "lost", unit: "" },
    ],
    results: runs.map((run) =>
      line(run, (rounds) => ({
        cpu: median(rounds.map(({ cpu, renewals }) => cpu * 1_000 / renewals)),
        heap: median(rounds.map(({ heap }) => heap / LOCKS / 1_024)),
        rate: median(rounds.map(({ renewals, hold }) => renewals / hold * 1_000)),
        failures: median(rounds.map(({ lost, told }) => Math.max(lost, told))),
      }))
    ),
  }];
}
