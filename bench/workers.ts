import type { LockTarget, Store } from "@holdfast/lock";
import { cohort } from "@holdfast/lock/cohort";
import { cas } from "@holdfast/lock/cas";
import { redis } from "@holdfast/lock/redis";
import { redlock } from "@holdfast/lock/redlock";
import { sqlite } from "@holdfast/lock/sqlite";
import type { Redis } from "ioredis";
import { Documents, memoryBackend } from "../tests/engine/memory_backend.ts";
import { countCommands, resetCommands } from "./commands.ts";
import type { Figure, Target } from "./figure.ts";
import { masters } from "./masters.ts";
import { plain } from "./plain.ts";
import { pause } from "./pause.ts";
import type { Bench } from "./row.ts";
import { type Sections, sections } from "./sections.ts";
import { median, ratios, summarize } from "./statistics.ts";
import { takeTurns } from "./turns.ts";

const WORKERS = 32;
const KEEP = 10;
const MASTERS = 3;

/**
 * Leases of which each section has one: if it is not that of the section before, the process renews before it hands on.
 */
const MIXED_LEASES = [10_000, 20_000, 30_000];

/** How long a round lasts, in milliseconds, and how many of each side count. */
const ROUND = 250;
const ROUNDS = 12;

/** So many rounds of each side come before those that count: scripts, wake-ups, the compiler of the runtime. */
const WARM_UP = 1;

/** One way in which the workers share the lock. */
export interface Side {
  readonly name: string;
  readonly store: Store;
  /** What its rate is to reach, in rates of the first side. */
  readonly target?: Target;
  /** How many scripts a section may take. */
  readonly scripts?: Target;
  /** The leases that are drawn from, in milliseconds, if they differ. */
  readonly leases?: readonly number[];
}

/** Where they do so. The first side is what the others are compared with. */
export interface Place {
  readonly name: string;
  readonly sides: readonly Side[];
  /** Of a store on one server: a client that counts what the server executes. */
  readonly counter?: Redis;
}

/** A round, with the scripts that the server has run in it. */
interface Round extends Sections {
  readonly scripts: number;
}

/** Many tasks of one process want one name all the time, for sections in which nothing is done. */
export async function workers(bench: Bench): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const open of [onRedis, onSqlite, onRedlock, onEngine]) figures.push(...await contest(await open(bench), bench));
  return figures;
}

/** The process keeps the lock for so long, and hands it on inside. */
function keep(target: LockTarget, atLeast: number, { stack }: Bench): Side {
  const store = stack.use(cohort(target, { keep: KEEP }));
  return { name: `keep ${KEEP}`, store, target: { bound: "at least", value: atLeast } };
}

function onRedis(bench: Bench): Place {
  const { server } = bench;
  const open = () => redis(server.connect());
  return {
    name: "Redis",
    counter: server.connect(),
    sides: [
      { name: "plain", store: plain(open()) },
      {
        name: "runs",
        store: open(),
        target: { bound: "at least", value: 8 },
        scripts: { bound: "at most", value: 1.2 },
      },
      { ...keep(open(), 25, bench), scripts: { bound: "at most", value: 0.2 } },
      { ...keep(open(), 3, bench), name: `keep ${KEEP}, mixed leases`, leases: MIXED_LEASES },
    ],
  };
}

function onSqlite(bench: Bench): Place {
  const { directory, stack } = bench;
  const open = (side: string) => {
    const store = sqlite(`${directory}/workers_${side}.db`);
    stack.defer(() => store.close());
    return store;
  };
  return {
    name: "SQLite",
    sides: [
      { name: "plain", store: plain(open("plain")) },
      { name: "runs", store: open("runs"), target: { bound: "at least", value: 2 } },
      keep(open("keep"), 12, bench),
    ],
  };
}

async function onRedlock(bench: Bench): Promise<Place> {
  const servers = await masters(MASTERS, bench.stack);
  const open = () => redlock(servers.map((server) => server.connect()));
  return {
    name: `Redlock, ${MASTERS} masters`,
    sides: [{ name: "plain", store: plain(open()) }, keep(open(), 30, bench)],
  };
}

function onEngine(): Place {
  return { name: "engine in memory", sides: withoutRunsAndWith(() => cas(memoryBackend(new Documents()))) };
}

/** A store on the engine without runs, and with them. */
export function withoutRunsAndWith(open: () => Store): readonly Side[] {
  return [
    { name: "plain", store: plain(open()) },
    { name: "runs", store: open(), target: { bound: "at least", value: 3 } },
  ];
}

/** Compares the sides of a place. */
export async function contest(place: Place, bench: Bench): Promise<Figure[]> {
  const { sides } = place;
  let done = 0;
  const results = await takeTurns({
    sides: sides.length,
    rounds: WARM_UP + Math.max(2, Math.round(ROUNDS * bench.scale)),
    measure: async (side) => {
      const round = await measure(sides[side]!, place);
      bench.progress(`${place.name}, ${++done} rounds`);
      // What needs no server never waits for anything: let the event loop turn, so that Ctrl-C is handled.
      await pause(0);
      return round;
    },
  });
  const rounds = results.map((each) => each.slice(WARM_UP));
  return [...sides.flatMap((side, i) => i === 0 ? [] : compare(place, side, rounds[i]!, rounds[0]!))];
}

async function measure({ name, store, leases }: Side, { counter }: Place): Promise<Round> {
  if (counter !== undefined) await resetCommands(counter);
  const { done, ms } = await sections(store, {
    workers: WORKERS,
    name: `workers:${name}`,
    ms: ROUND,
    ...leases && { leases },
  });
  const { scripts } = counter === undefined ? { scripts: NaN } : await countCommands(counter);
  return { done, ms, scripts };
}

function compare({ name, counter, sides }: Place, side: Side, ours: Round[], reference: Round[]): Figure[] {
  const perSecond = (rounds: Round[]) => rounds.map(({ done, ms }) => done / ms * 1_000);
  const comparison = ratios(perSecond(ours), perSecond(reference));
  const what = `${WORKERS} workers of one process, ${name}, ${side.name}`;
  const rate: Figure = {
    what,
    ours: { value: median(perSecond(ours)), unit: "/s" },
    reference: { name: sides[0]!.name, value: median(perSecond(reference)), unit: "/s" },
    ratio: median(comparison),
    ...side.target && { target: side.target },
    details: {
      ratio: summarize(comparison),
      oursPerSecond: summarize(perSecond(ours)),
      referencePerSecond: summarize(perSecond(reference)),
    },
  };
  if (counter === undefined) return [rate];
  return [rate, {
    what: `${what}: scripts per section`,
    ours: { value: scriptsPerSection(ours), unit: "" },
    reference: { name: sides[0]!.name, value: scriptsPerSection(reference), unit: "" },
    ...side.scripts && { target: side.scripts },
  }];
}

function scriptsPerSection(rounds: readonly Round[]): number {
  const sum = (of: (round: Round) => number) => rounds.reduce((total, round) => total + of(round), 0);
  return sum(({ scripts }) => scripts) / sum(({ done }) => done);
}
