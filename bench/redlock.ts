import { acquire } from "@holdfast/lock";
import type { Redis } from "ioredis";
import { BareQuorum } from "./bare_quorum.ts";
import type { Figure } from "./figure.ts";
import { masters } from "./masters.ts";
import { RawScripts } from "./raw_scripts.ts";
import type { Bench } from "./row.ts";
import { median, summarize } from "./statistics.ts";
import { compare } from "./uncontended.ts";

const LOAD = { loops: 1, pairs: 200, seconds: 10 } as const;

/** How many acquires are measured before and after a master freezes, and again, so that a change of pace shows. */
const ACQUIRES = 250;
const TURNS = 4;

/** Locks on a majority of masters: against bare pairs on all of them, and with one that is frozen. */
export async function redlock(bench: Bench): Promise<Figure[]> {
  return [...await pairs(3, bench), ...await pairs(5, bench), await frozen(5, bench)];
}

async function pairs(count: number, bench: Bench): Promise<Figure[]> {
  const servers = await masters(count, bench.stack);
  const ours = servers.map((server) => server.connect());
  const raw = await Promise.all(servers.map((server) => RawScripts.on(server.connect())));
  const bare = await BareQuorum.on(servers.map((server) => server.connect()));
  const what = `Redlock, ${count} masters`;
  // The keys are equally long: "lock:" is the default prefix.
  const reference = { reference: () => bare.run("lock:bare"), against: `${count} bare pairs` };
  return [
    await compare(
      {
        what: `${what}, acquire + release`,
        ours: () => section(ours, "ours"),
        ...reference,
        target: { bound: "at least", value: 0.88 },
      },
      LOAD,
      bench,
    ),
    await compare(
      {
        what: `${what}, two scripts by themselves`,
        ours: () => RawScripts.runOnAll(raw, "lock:raws"),
        ...reference,
      },
      LOAD,
      bench,
    ),
  ];
}

async function frozen(count: number, bench: Bench): Promise<Figure> {
  const servers = await masters(count, bench.stack);
  const clients = servers.map((server) => server.connect());
  const [well, hung]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < TURNS; turn++) {
    const victim = servers[turn % count]!;
    for (const [times, freezes] of [[well, false], [hung, true]] as const) {
      if (freezes) victim.freeze();
      const acquires = Math.max(20, Math.ceil(ACQUIRES * bench.scale));
      for (let i = 0; i < acquires; i++) {
        const started = performance.now();
        await using _lock = await acquire(clients, "frozen");
        times.push(performance.now() - started);
        bench.progress(`${count} masters, one of them frozen: ${well.length + hung.length} acquires`);
      }
    }
    victim.thaw();
    // It has a lot to answer: the next turn begins when it has.
    await clients[turn % count]!.ping();
  }
  // The compiler of the runtime takes a while to be done.
  const warm = (times: number[]) => times.slice(Math.ceil(times.length / TURNS));
  return {
    what: `Redlock, ${count} masters, one of them frozen: acquire, p50`,
    ours: { value: median(warm(hung)), unit: "ms" },
    reference: { name: "all well", value: median(warm(well)), unit: "ms" },
    ratio: median(warm(hung)) / median(warm(well)),
    target: { bound: "at most", value: 1.2 },
    details: { frozen: summarize(warm(hung)), well: summarize(warm(well)) },
  };
}

/** As users write it. */
async function section(clients: Redis[], name: string): Promise<void> {
  await using _lock = await acquire(clients, name);
}
