import { acquire } from "@holdfast/lock";
import Redlock from "@holdfast/compat/redlock";
import { redis } from "@holdfast/lock/redis";
import { install } from "../tests/runtimes/install.ts";
import { MODULES } from "../tests/runtimes/versions.ts";
import { IN_FULL, IN_PART, OF_GLIDE, OVER_HTTP } from "../tests/stores/redis/clients.ts";
import { type ClientLibrary, tested } from "../tests/stores/redis/tested.ts";
import { BarePair, LEASE } from "./bare.ts";
import { runChild } from "./child.ts";
import type { BunOptions } from "./clients_bun.ts";
import type { Figure } from "./figure.ts";
import { RawScripts } from "./raw_scripts.ts";
import { relay } from "./relay.ts";
import type { Rounds } from "./rounds.ts";
import type { Bench } from "./row.ts";
import { median, summarize, type Summary } from "./statistics.ts";
import { takeTurns } from "./turns.ts";
import { compare, type Contest, figureOf } from "./uncontended.ts";

/** What is reached of the rate of the bare pair over a client of the same library. */
const TARGETS: Readonly<Record<string, number>> = { "node-redis 6": 0.85, "node-redis 5": 0.85, bun: 0.8 };

const LOAD = { loops: 1, pairs: 400, seconds: 10 } as const;

/** How long the queue is where a lock goes from hand to hand. */
const WAITERS = [1, 100, 1_000];

/** How many turns each library has with it, and how long one is. */
const TURNS = { rounds: 4, seconds: 2.5 } as const;

const [IOREDIS, NODE_REDIS] = IN_FULL as [ClientLibrary, ClientLibrary];

/** The clients that the Redis store takes, and the drop-in for redlock. */
export async function clients(bench: Bench): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const library of [...IN_FULL, ...IN_PART, OF_GLIDE, OVER_HTTP]) figures.push(await pairs(library, bench));
  figures.push(await scripts(NODE_REDIS, bench), await pairsInBun(false, bench), await pairsInBun(true, bench));
  figures.push(await dropIn(bench));
  for (const waiters of WAITERS) figures.push(await handoffOverNodeRedis(waiters, bench));
  return [...figures, await handoffWhilePolling(bench)];
}

function targetOf(library: string): Pick<Figure, "target"> {
  const value = TARGETS[library];
  return value === undefined ? {} : { target: { bound: "at least", value } };
}

async function pairs(library: ClientLibrary, bench: Bench): Promise<Figure> {
  const connect = () => tested(bench.server.connect(), library);
  const [client, bare] = [connect(), await BarePair.on(connect())];
  const contest: Contest = {
    what: `${library.name}: acquire + release`,
    // The keys are equally long: "lock:" is the default prefix.
    ours: async () => {
      await using _lock = await acquire(client, "ours");
    },
    reference: () => bare.run("lock:bare"),
    against: "bare pair over it",
    ...targetOf(library.name),
  };
  return await compare(contest, LOAD, bench);
}

/** What a fence and a queue cost the library, the connection and the server, with nothing of ours around them. */
async function scripts(library: ClientLibrary, bench: Bench): Promise<Figure> {
  const connect = () => tested(bench.server.connect(), library);
  const [raw, bare] = [await RawScripts.on(connect()), await BarePair.on(connect())];
  const contest: Contest = {
    what: `${library.name}: the two scripts by themselves`,
    ours: () => raw.run("lock:ours"),
    reference: () => bare.run("lock:bare"),
    against: "bare pair over it",
  };
  return await compare(contest, LOAD, bench);
}

async function pairsInBun(raw: boolean, { server, scale, stack, progress }: Bench): Promise<Figure> {
  progress("installing Bun");
  await install();
  progress("Bun");
  const options: BunOptions = { port: server.port, pairs: LOAD.pairs, seconds: LOAD.seconds * scale, raw };
  const program = new URL("clients_bun.ts", import.meta.url).pathname;
  const rounds = await runChild<Rounds>(`${MODULES}/bun/bin/bun`, [program, JSON.stringify(options)], stack);
  const what = raw ? "Bun: the two scripts by themselves" : "Bun: acquire + release";
  const contest = { what, against: "bare pair over it", ...raw ? {} : targetOf("bun") };
  return figureOf(contest, LOAD.pairs, rounds);
}

/** Measures the drop-in for redlock against what it is made of. */
async function dropIn(bench: Bench): Promise<Figure> {
  const [client, locks] = [bench.server.connect(), new Redlock([bench.server.connect()])];
  const contest: Contest = {
    what: "compat/redlock: acquire + release",
    ours: async () => {
      await using _lock = await locks.acquire(["lock:ours"], LEASE);
    },
    reference: async () => {
      await using _lock = await acquire(client, "them", { lease: LEASE, renew: false });
    },
    against: "ours without it",
    target: { bound: "at least", value: 0.9 },
  };
  return await compare(contest, LOAD, bench);
}

async function handoffOverNodeRedis(waiters: number, bench: Bench): Promise<Figure> {
  const rounds = await takeTurns({
    sides: 2,
    rounds: TURNS.rounds,
    measure: (side) => handoffs(side === 0 ? NODE_REDIS : IOREDIS, waiters, TURNS.seconds, bench),
  });
  const [ours, reference] = rounds.map((each) => summarize(each.flat())) as [Summary, Summary];
  return {
    what: `node-redis 6: handoff, ${waiters.toLocaleString("en")} waiting, p50`,
    ours: { value: ours.median, unit: "ms" },
    reference: { name: "ioredis 6", value: reference.median, unit: "ms" },
    ratio: ours.median / reference.median,
    target: { bound: "at most", value: 1.3 },
    details: { ours, reference },
  };
}

async function handoffWhilePolling(bench: Bench): Promise<Figure> {
  const times = await handoffs(OVER_HTTP, 1, TURNS.rounds * TURNS.seconds, bench);
  return {
    what: "upstash: handoff while polling, 1 waiting, p50",
    ours: { value: median(times), unit: "ms" },
    details: { ours: summarize(times) },
  };
}

async function handoffs(
  library: ClientLibrary,
  waiters: number,
  seconds: number,
  { server, scale, progress }: Bench,
): Promise<number[]> {
  return await relay({
    open: (observer) => redis(tested(server.connect(), library), { prefix: `${library.name} ${waiters}:`, observer }),
    waiters,
    seconds: seconds * scale,
    progress: (text) => progress(`${library.name}, ${waiters} waiting, ${text}`),
  });
}
