import type { RedisServer } from "../../../tests/support/redis_server.ts";
import { masters } from "../../../bench/masters.ts";
import { median } from "../../../bench/statistics.ts";
import { compete, line, type PeerBench } from "../bench.ts";
import { contenders, hire, lockName } from "../contender.ts";
import type { Outcome } from "../outcome.ts";
import { compare, comparison } from "./free.ts";

const ROUNDS = 5;

/** So many locks make a round while all is well, and while one server is frozen. */
const PAIRS = 150;
const FROZEN = 20;

/** How long a frozen round may take, in seconds, and how long a single lock may take then, in milliseconds. */
const SECONDS = 4;
const LIMIT = 10_000;

/** Locks on a majority of servers: all well, and with one that is frozen. */
export async function redlock(bench: PeerBench): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const count of [3, 5]) {
    const servers = await masters(count, bench.stack);
    outcomes.push(await well(servers, bench), await frozen(servers, bench));
  }
  return outcomes;
}

async function well(servers: RedisServer[], bench: PeerBench): Promise<Outcome> {
  // Without the settings that only matter when something fails.
  const all = contenders("quorum", bench.peers, bench.titles).filter(({ tuned }) => !tuned)
    .map((contender) => ({ ...contender, settings: contender.peer.settings ?? "" }));
  const ports = () => Promise.resolve(servers.map(({ port }) => port));
  // One of them stands for all.
  const runs = await compare(all, { ports, loops: 1, pairs: PAIRS }, { ...bench, server: servers[0]! });
  const title = `Redlock, ${servers.length} servers, acquire + release`;
  return comparison(`redlock:${servers.length}`, title, "of bare pairs on all", runs);
}

async function frozen(servers: RedisServer[], bench: PeerBench): Promise<Outcome> {
  const all = contenders("quorum", bench.peers, bench.titles).filter(({ peer }) => !peer.bare);
  const runs = await compete(all, bench.quick ? 1 : ROUNDS, bench, async (who, round) => {
    await using workers = new AsyncDisposableStack();
    bench.stack.defer(() => workers.disposeAsync());
    const worker = await hire(who, servers.map(({ port }) => port), workers);
    const order = { do: "timed", seconds: SECONDS, count: FROZEN };
    await worker.ask({ ...order, name: lockName(who, "before") }, LIMIT);
    const victim = servers[round % servers.length]!;
    victim.freeze();
    try {
      const name = lockName(who, `frozen:${round}`);
      return await worker.ask<{ times: number[]; failures: number }>({ ...order, name }, LIMIT);
    } finally {
      await worker[Symbol.asyncDispose]();
      victim.thaw();
      const client = victim.connect();
      // It has a lot to answer: the next turn begins when it has.
      await client.ping();
      client.disconnect();
    }
  });
  return {
    row: `frozen:${servers.length}`,
    title: `Redlock, ${servers.length} servers, one of them frozen: acquire + release`,
    best: "least",
    columns: [
      { key: "p50", title: "p50", unit: "ms" },
      { key: "failures", title: "failed of 20", unit: "" },
    ],
    results: runs.map((run) =>
      line(run, (rounds) => {
        const times = rounds.flatMap(({ times }) => times);
        const failures = rounds.reduce((sum, { failures }) => sum + failures, 0) / rounds.length;
        return { p50: times.length === 0 ? undefined : median(times), failures };
      })
    ),
  };
}
