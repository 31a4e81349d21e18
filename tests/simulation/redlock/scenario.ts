import type { HandoffSettings } from "../../../src/handoff/context.ts";
import type { Drift } from "../kernel/machine.ts";
import type { Quality } from "./network.ts";
import type { Random } from "../kernel/random.ts";

/**
 * Which faults happen. *None*: nothing fails. *Allowed*: anything fails, but within what mutual exclusion rests on:
 * clocks that drift less than allowed, and nodes that keep their data or stay down for longer than any lease. *Any*:
 * anything.
 */
export type Faults = "none" | "allowed" | "any";

/**
 * What is to happen often in a run. *Restored locks*: nodes lose locks that their holders get back. *Late answers*:
 * messages take about as long as nodes may, while many ask for a lock that nobody keeps for long. *Runs*: several of
 * each process wait for a lock of one server, which grants it to them together. *Cohorts*: each process asks for the
 * lock for all that want it there, and hands it on.
 */
export type Theme = "anything" | "restored locks" | "late answers" | "runs" | "cohorts";

/** Returns what is to happen often in the run of a seed: six of ten have a theme. */
export function themeOf(seed: number): Theme {
  if (seed % 10 === 0 || seed % 10 === 2) return "cohorts";
  if (seed % 10 === 4) return "restored locks";
  if (seed % 10 === 6) return "runs";
  return seed % 10 === 8 ? "late answers" : "anything";
}

/**
 * The most fences that are wished for at once where claims wish for several: as many as a store may grant, or fewer.
 */
const MOST_FENCES = 10_000;

/** How far the clocks of clients are off then at first, at the most, in milliseconds: their blocks are to meet. */
const CLOSE = 5;

/** How far the end of a block of fences may be ahead of the clock, in milliseconds. */
export const FENCES_AHEAD = 10;

/**
 * Returns how many fences claims wish for at the most in the run of a seed: three of ten wish for several. It is not
 * drawn, so that the other runs stay what they are.
 */
function fencesOf(seed: number): number {
  return Math.floor(seed / 10) % 10 >= 7 ? MOST_FENCES : 1;
}

/**
 * Returns the node on which somebody else holds all locks for ever, if there is one: a minority, in one of seven runs.
 * It is not drawn either. There is none where locks that nodes lose are on all nodes, and none beside cohorts, some of
 * whose waiters ask only when a node wakes them.
 */
function takenOf(seed: number, { single, nodes, theme }: Scenario): number | undefined {
  const suits = !single && nodes.length >= 3 && theme !== "restored locks" && theme !== "cohorts";
  return suits && seed % 7 === 3 ? Math.floor(seed / 7) % nodes.length : undefined;
}

/** What a run is about. */
export interface Scenario {
  readonly theme: Theme;
  /** What the nodes are: the store in memory, or servers that run the scripts of the store on Redis. */
  readonly nodeKind: "memory" | "scripts";
  /** Whether there is one server with its own queue and fences, instead of a quorum. */
  readonly single: boolean;
  /** Whether its clients hand locks on inside: what a server grants them together, as `acquire` does, or as cohorts. */
  readonly handsOn: boolean;
  /** The options of the cohort that each client is, if it is one. */
  readonly cohort: HandoffSettings | undefined;
  /** Whether some handles of each client use the cohort, and others what it was made of. */
  readonly besides: boolean;
  readonly faults: Faults;
  readonly nodes: readonly Drift[];
  readonly clients: readonly Drift[];
  /** How many acquire at the same time on each client. */
  readonly workers: number;
  readonly names: readonly string[];
  /** How often a lock is asked for in shared mode. */
  readonly shared: number;
  /** How often the lease of a lock that is held is changed. */
  readonly extended: number;
  /** How many fences a claim wishes for at the most. */
  readonly fences: number;
  /** The bounds of leases, in milliseconds. */
  readonly leases: readonly [number, number];
  /** How long those think who work, at the most, in milliseconds. */
  readonly thinking: number;
  /** How many leases long a lock is held at the most. */
  readonly holding: number;
  /** As the store takes it, in milliseconds. */
  readonly nodeTimeout: number | undefined;
  /** For how long there are faults and new acquires, in milliseconds. */
  readonly length: number;
  readonly quality: Quality;
  /** The usual time between two faults, in milliseconds. */
  readonly faultGap: number;
  /** Whether nodes lose their data when they go down, sometimes, and if so whether they stay down for long. */
  readonly wipes: "none" | "late" | "at once";
  /** Whether wall clocks are set, and if so those of nodes as well, and forward. */
  readonly clockSet: "none" | "clients" | "usual" | "any";
  /** Whether processes are suspended, with their monotonic clocks standing still. */
  readonly suspensions: boolean;
  /** Whether clients die, and connections that are gone leave them hanging; else only leases outlive their holders. */
  readonly deaths: boolean;
  /** How far the wall clocks can be apart, in milliseconds. */
  readonly apart: number;
  /** The index of the node on which somebody else holds all locks for ever. */
  readonly taken: number | undefined;
  /** What mutual exclusion rests on and is not so in this run. */
  readonly broken: readonly string[];
  /** Whether there is one holder at a time: whether all is so that it rests on. */
  readonly exclusion: boolean;
}

/** The drift allowance of the store under test, and of the leases in it. */
export const DRIFT_FACTOR = 0.01;

/** How much faster or slower clocks run than true time: two of them within the allowance, or far outside it. */
const RATES = { within: 0.0045, beyond: 0.1 } as const;

/** By how much the messages of a client are held back at the most, in milliseconds. */
export const LONGEST_LAG = 3_000;

/** How far ahead of its own clock a node lets its counter be set, in milliseconds. */
export const MAX_CLOCK_SKEW = 10_000;

/** The bounds of long leases, in milliseconds. */
const LONG = [10_000, 20_000] as const;

/** For how long many ask for a lock at the most, where answers are late, in milliseconds. */
const SHORT = 1_000;

/** How long a process may hand a lock on, and keep it without a holder, in milliseconds. */
const COHORTS: readonly HandoffSettings[] = [
  { keep: 10, linger: 0 },
  { keep: 100, linger: 0 },
  { keep: 100, linger: 20 },
  { keep: 500, linger: 100 },
];

/** Draws the scenario of a seed. */
export function draw(random: Random, seed: number): Scenario {
  const theme = themeOf(seed);
  const drawn = drawThemed(random, theme);
  const handsOn = theme === "cohorts" || drawn.single && seed % 4 !== 1;
  const scenario = { ...drawn, handsOn, taken: takenOf(seed, drawn) };
  const fences = fencesOf(seed);
  if (fences === 1) return scenario;
  const close = (drift: Drift) => ({ ...drift, skew: Math.max(-CLOSE, Math.min(drift.skew, CLOSE)) });
  const clients = scenario.clients.map(close);
  // In one half of these runs a lock changes hands before the time of its block is over.
  if (seed % 2 === 0 || theme !== "anything") return { ...scenario, fences, clients };
  const length = Math.min(scenario.length, SHORT);
  const many = [...clients, ...clients].slice(0, 4);
  return {
    ...scenario,
    fences,
    clients: many,
    workers: 2,
    names: ["a"],
    shared: 0,
    thinking: 10,
    holding: 0.02,
    length,
  };
}

function drawThemed(random: Random, theme: Theme): Scenario {
  if (theme === "anything") return drawAny(random);
  let scenario: Scenario;
  const single = theme === "runs" || theme === "cohorts" && random.chance(0.7);
  do scenario = drawAny(random, single); while (!suits(scenario, theme));
  const { clients, quality, length } = scenario;
  if (theme === "runs" || theme === "cohorts") {
    return {
      ...scenario,
      theme,
      cohort: theme === "runs" ? undefined : random.pick(COHORTS),
      besides: theme === "cohorts" && random.chance(0.3),
      clients: [...clients, ...clients].slice(0, 3),
      workers: random.integer(3, 6),
      names: ["a"],
      shared: random.pick([0, 0, 0.3]),
      extended: random.pick([0, 0, 0.2]),
      thinking: random.pick([5, 50]),
      holding: random.pick(theme === "runs" ? [0.03, 0.3, 2] : [0.003, 0.003, 0.03, 2]),
      // A lock is handed on without a renewal where all leases are alike.
      leases: random.chance(0.5) ? [scenario.leases[1], scenario.leases[1]] : scenario.leases,
      length: Math.min(length, 4 * SHORT),
      faultGap: random.spread(50, 1_000),
      // By a clock that is set back a reservation of somebody who died lasts for so much longer.
      clockSet: scenario.clockSet === "none" ? "none" : "clients",
    };
  }
  if (theme === "restored locks") {
    const faultGap = random.spread(20, 200);
    return { ...scenario, theme, clients: clients.slice(0, 2), names: ["a"], thinking: 100, holding: 5, faultGap };
  }
  const nodeTimeout = random.pick([10, 20]);
  return {
    ...scenario,
    theme,
    clients: [...clients, ...clients].slice(0, 4),
    workers: 3,
    names: ["a"],
    shared: random.pick([0, 0.8, 0.9]),
    thinking: 30,
    holding: 0.2,
    nodeTimeout,
    length: Math.min(length, SHORT),
    quality: { ...quality, delayed: random.pick([0.2, 0.4]), longest: 3 * nodeTimeout },
  };
}

/**
 * Returns whether there are faults, nodes enough, and messages that overtake each other where they are to be late, or
 * one holder.
 */
function suits({ faults, nodeKind, single, nodes, leases, quality, exclusion }: Scenario, theme: Theme): boolean {
  if (theme === "runs") return single && exclusion && leases[1] < LONG[1];
  if (theme === "cohorts") return exclusion && leases[1] < LONG[1] && (single || nodeKind === "memory");
  if (faults === "none" || nodeKind !== "memory" || nodes.length < 3) return false;
  return theme === "late answers" ? !quality.connected && leases[1] < LONG[1] : exclusion;
}

function drawAny(random: Random, single = false): Scenario {
  const faults = random.pick(
    ["none", "none", "allowed", "allowed", "allowed", "allowed", "any", "any", "any"] as const,
  );
  // With long leases nobody may have to wait for the end of one: nobody dies, or takes one to be over that is not.
  const long = random.chance(0.2);
  const unrestricted = faults === "any";
  const wiped = !long && faults !== "none" && random.chance(0.4);
  const wipes = !wiped ? "none" : unrestricted && random.chance(0.6) ? "at once" : "late";
  const kind = single ? "single" : random.pick(["memory", "memory", "memory", "memory", "scripts", "single"] as const);
  const nodeKind = kind === "memory" ? "memory" : "scripts";
  // A client of Redis has a connection.
  const connected = nodeKind === "scripts" || random.chance(0.5);
  const length = random.between(1_500, 8_000);
  // Where counters are lost only clocks keep fences in order: these agree well then.
  const drifts = unrestricted && wipes === "none" && random.chance(0.5);
  const skew = wiped ? random.pick([0, 50]) : random.pick([0, 100, 5_000, 20_000]);
  const rate = drifts ? RATES.beyond : RATES.within;
  // All nodes may be as fast as allowed, and all clients as slow.
  const opposed = random.chance(0.3);
  const step = random.pick([0.001, 0.001, 1]);
  const clock = (opposite: number) => ({
    rate: 1 + (opposed ? opposite : random.pick([-rate, rate, 0, random.between(-rate, rate)])),
    skew: random.between(-skew, skew),
    step,
  });
  const set = faults !== "none" && !wiped && !long && random.chance(0.5);
  const clockSet = !set ? "none" : unrestricted && random.chance(0.6) ? "any" : "usual";
  const broken = [
    ...(drifts ? ["clocks drift"] : []),
    ...(wipes === "at once" ? ["nodes come back empty"] : []),
    ...(clockSet === "any" ? ["clocks of nodes are set forward"] : []),
  ];
  const leases = long ? LONG : random.pick([[100, 300], [300, 1_000], [100, 3_000], [1_000, 3_000]] as const);
  // Many who share a lock, and hardly hold it: they ask for their fences at the same time.
  const contended = !long && random.chance(0.12);
  return {
    theme: "anything",
    nodeKind,
    single: kind === "single",
    handsOn: false,
    cohort: undefined,
    besides: false,
    faults,
    nodes: Array.from(
      { length: kind === "single" ? 1 : random.pick([1, 2, 3, 3, 3, 3, 4, 5, 5, 5, 7]) },
      () => clock(rate),
    ),
    clients: Array.from({ length: contended ? 4 : random.integer(1, 4) }, () => clock(-rate)),
    workers: contended ? 3 : random.integer(1, 2),
    names: contended || random.chance(0.8) ? ["a"] : ["a", "b"],
    shared: contended ? 0.9 : random.pick([0, 0, 0.3, 0.8]),
    extended: random.pick([0, 0.2, 0.2, 0.8]),
    fences: 1,
    leases,
    thinking: contended ? 30 : random.pick([1_000, 1_000, 4_000]),
    holding: contended ? 0.2 : long ? 2 : random.pick([2, 2, 10]),
    // Where nothing fails nothing may time out: the first wait of a client takes three round trips, or more.
    nodeTimeout: random.pick([undefined, faults === "none" ? 50 : 10, 50, 1_000]),
    length: contended ? length / 3 : length,
    quality: faults === "none" ? { ...FAULTLESS, connected, commandTimeout: undefined } : {
      lost: random.pick([0, 0.01, 0.1]),
      // The second copy of a vote may come after everything else, and holds for its whole lease.
      doubled: long ? 0 : random.pick([0, 0.02, 0.2]),
      lingering: long ? 0 : random.pick([0, 0.5]),
      delayed: random.pick([0, 0.02, 0.2, 0.4]),
      longest: long ? 4_000 : Math.max(4_000, 2 * leases[1]),
      hangs: !long && random.chance(0.7),
      connected,
      commandTimeout: kind === "single" && !long ? random.pick([undefined, undefined, 50, 500]) : undefined,
    },
    faultGap: random.spread(100, 3_000),
    wipes,
    clockSet,
    // Where both clocks lie at once nobody can know how long it was away.
    suspensions: faults !== "none" && !set,
    deaths: !long,
    apart: 2 * (skew + length * rate),
    taken: undefined,
    broken,
    exclusion: broken.length === 0,
  };
}

const FAULTLESS = { lost: 0, doubled: 0, lingering: 0, delayed: 0, longest: 0, hangs: false };
