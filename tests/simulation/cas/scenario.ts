import type { HandoffSettings } from "../../../src/handoff/context.ts";
import type { Drift } from "../kernel/machine.ts";
import { Random } from "../kernel/random.ts";
import { FAULTLESS, type Quality } from "./server.ts";

/** A time in which nobody does anything, in milliseconds since the beginning. */
export interface Rest {
  readonly from: number;
  readonly until: number;
  /** Whether documents are swept: never, at its end, or all the time. */
  readonly sweeps: "never" | "at the end" | "always";
}

/** What a run is about. */
export interface Scenario {
  readonly clients: readonly Drift[];
  readonly server: Drift;
  /** Whether the server has a clock, tells it when it has written, and notifies of changes. */
  readonly clock: boolean;
  readonly timedWrites: boolean;
  /** Whether it has timers, so that no clock of a client decides. */
  readonly timers: boolean;
  readonly watch: boolean;
  /** Whether it notifies of news alone. */
  readonly news: boolean;
  /** How many documents a page of a listing has. */
  readonly page: number;
  /** How far the clock of a second machine is ahead that decides on writes, in milliseconds, if one does. */
  readonly second: number | undefined;
  /** The largest document, in bytes. */
  readonly maxBytes: number | undefined;
  readonly maxClockSkew: number;
  readonly names: readonly string[];
  /** How many tasks each client has. */
  readonly workers: number;
  readonly leases: readonly [number, number];
  /** How often a lock is shared. */
  readonly shared: number;
  /** How often a caller does not wait, and how long others do, in milliseconds, if not for ever. */
  readonly impatient: number;
  readonly patience: readonly [number, number];
  /** How often somebody takes the lock away before it acquires one: steals it, or evicts its holders. */
  readonly revokes: number;
  /** Whether one process has the store object of all, which is started anew when that has died. */
  readonly hosted: boolean;
  /** Whether locks are handed on inside a client. */
  readonly handsOn: boolean;
  /** How long a worker thinks at the most, in milliseconds. */
  readonly thinking: number;
  /** How long a lock is held at the most, in leases and in milliseconds. */
  readonly holding: number;
  readonly longestHold: number;
  /** When faults end, in milliseconds. */
  readonly length: number;
  readonly faults: boolean;
  readonly quality: Quality;
  readonly faultGap: number;
  /** Whose wall clocks are set; machines are suspended only if none is. */
  readonly sets: "none" | "clients" | "server";
  /** Whether clients die, and others come in their place. */
  readonly deaths: boolean;
  /** The days in which nothing is used, so that documents are removed. */
  readonly rest: Rest | undefined;
  /** How many processes begin, wait and die while a lock is held for long. */
  readonly crashes: number;
  /** Whether the holder is killed, and processes come one after the other that each wait for less than its lease. */
  readonly shortWaits: boolean;
  /** Whether new processes want the lock for a short time, one after the other, all the time. */
  readonly visitors: boolean;
  /** Whether locks of all kinds are asked for: with permits, by owners who ask several times, and by others. */
  readonly kinds: boolean;
  /** The options of the cohort that each process is, if it is one. */
  readonly cohort: HandoffSettings | undefined;
  /** Whether processes close their connections to the server for good. */
  readonly closes: boolean;
  /** Whether callers reach the locks of a process through what hands them on, and no other way, as with `cas()`. */
  readonly closed: boolean;
  /** Whether the server lists documents. */
  readonly lists: boolean;
  /** Whether others write before a process for seconds, again and again. */
  readonly outpaced: boolean;
  /** Whether a process uses thousands of other names, each for a moment. */
  readonly many: boolean;
  /** How long the description of a handle is, in characters. */
  readonly described: number;
  /** Whether another program writes among the documents: what is none, and where the next page begins. */
  readonly strangers: boolean;
}

/** How much faster or slower a clock may be than allowed for: the drift of a lease is 1 %, for both sides together. */
const RATE = 0.004;

/** How far two clocks move away from true time until a run ends, each, with something to spare, in milliseconds. */
export const APART = 125;

/** How far two clocks are apart at the most at the end of a crash loop, which takes longer, in milliseconds. */
const FAR_APART = 3_000;

/** The largest document where a few waiters are many, in bytes. */
const SMALL = 6_500;

/** For how long nobody does anything: longer than documents are kept that nobody uses. */
const REST = 8 * 24 * 3_600_000;

/** How wrong the clocks of clients are where that does not matter, in milliseconds: 20 days. */
export const WRONG = 20 * 24 * 3_600_000;

/** A name for which a page of names is swept when its document is made. */
const SWEEPING = "n6";

/** Nobody keeps a lock for longer, in milliseconds, where nothing else is said. */
const LONGEST_HOLD = 6_000;

/** How often a run is a mixed one, of those that may be, and of those in which processes come all the time. */
const MIXED = 0.25;
const MIXED_VISITS = 0.6;

/** How long descriptions are where documents are small, in characters. */
const DESCRIBED = 400;

/** How long a run takes in which thousands of names are used, in milliseconds. */
const MANY_TAKE = 80_000;

/** How long a process may hand a lock on, and keep it without a holder, in milliseconds. */
const COHORTS: readonly HandoffSettings[] = [
  { keep: 10, linger: 0 },
  { keep: 100, linger: 20 },
  { keep: 1_000, linger: 0 },
];

/** Returns what the run of a seed is about. */
export function scenarioOf(seed: number): Scenario {
  return draw(new Random(seed), seed);
}

/** Draws the run of a seed. */
export function draw(random: Random, seed: number): Scenario {
  // By numbers of its own, so that the other runs stay what they are.
  return mixed(drawThemed(random), new Random(seed ^ 0x31415926));
}

/**
 * Adds to some runs what else there may be: other kinds of locks, cohorts, connections that are closed, other programs.
 */
function mixed(scenario: Scenario, random: Random): Scenario {
  const { crashes, shortWaits, visitors, faults, hosted, rest, maxBytes, faultGap } = scenario;
  if (crashes > 0 || shortWaits || !random.chance(visitors ? MIXED_VISITS : MIXED)) return scenario;
  // Several waiters of one process ask about timers, and callers that do not wait.
  if (visitors) return { ...scenario, workers: 3, shared: random.pick([0, 0.5]), impatient: 0.3 };
  const kinds = random.chance(0.6);
  const many = rest === undefined && !hosted && random.chance(0.05);
  const faulty = faults && !hosted && faultGap < Infinity;
  const mix: Scenario = {
    ...scenario,
    kinds,
    handsOn: hosted ? random.chance(0.5) : scenario.handsOn,
    cohort: random.chance(0.4) ? random.pick(COHORTS) : undefined,
    closes: faulty && random.chance(0.4),
    closed: random.chance(0.5),
    lists: random.chance(0.8),
    outpaced: faulty && (random.chance(0.2) || many),
    ...many && { many, length: MANY_TAKE, thinking: 4_000 },
    described: maxBytes === undefined ? 0 : DESCRIBED,
    strangers: random.chance(0.4),
  };
  // A document that is full of holders.
  const isFull = maxBytes !== undefined && random.chance(0.3);
  return isFull ? { ...mix, kinds: false, shared: 1, workers: 3, thinking: 30, holding: 4 } : mix;
}

function drawThemed(random: Random): Scenario {
  const theme = random.next();
  if (theme < 0.025) return crashLoop(random);
  if (theme < 0.125) return rested(random);
  if (theme < 0.225) return slow(random);
  if (theme < 0.275) return revoked(random);
  if (theme < 0.325) return hosted(random);
  if (theme < 0.365) return leaping(random);
  if (theme < 0.405) return impatient(random);
  if (theme < 0.425) return shortWaits(random);
  return theme < 0.465 ? timed(random) : anything(random);
}

/**
 * Draws a run in which the server often tells a wrong time, while several leases of different length are not renewed.
 */
function leaping(random: Random): Scenario {
  return {
    ...anything(random),
    clock: true,
    second: undefined,
    maxClockSkew: 10_000,
    names: ["a"],
    workers: 3,
    leases: [500, 8_000],
    shared: 0.7,
    handsOn: false,
    thinking: 30,
    holding: 4,
    faults: true,
    length: 15_000,
    sets: "none",
    quality: { ...FAULTLESS, leaps: 0.1 },
  };
}

/** Draws a run in which waiters give up soon, perhaps just when it is their turn, and are told of news alone. */
function impatient(random: Random): Scenario {
  return {
    ...anything(random),
    watch: true,
    news: true,
    names: ["a"],
    workers: 3,
    impatient: 0,
    patience: [20, 400],
    thinking: 30,
    holding: 0.1,
    faults: true,
    length: 15_000,
    sets: "none",
    faultGap: 3_000,
    quality: { ...FAULTLESS, delayed: 0.3, longest: 100 },
  };
}

/** Draws a run in which locks are held for long, without renewals, and taken away; many requests are lost. */
function revoked(random: Random): Scenario {
  return {
    ...anything(random),
    names: ["a"],
    workers: 1,
    leases: [60_000, 90_000],
    impatient: 0,
    handsOn: false,
    thinking: random.pick([1_000, 20_000]),
    holding: 1,
    longestHold: 45_000,
    length: 180_000,
    quality: { ...FAULTLESS, lost: random.pick([0, 0.05, 0.1]) },
    faults: true,
    faultGap: Infinity,
    sets: "none",
    deaths: false,
    revokes: 0.5,
  };
}

/** Draws a run of one store object, which handles of other processes ask, and which is started anew. */
function hosted(random: Random): Scenario {
  const scenario = anything(random);
  return {
    ...scenario,
    clock: true,
    second: undefined,
    maxClockSkew: 0,
    maxBytes: undefined,
    names: ["a"],
    impatient: random.pick([0, 0.2]),
    handsOn: false,
    length: 40_000,
    faults: true,
    quality: FAULTLESS,
    faultGap: Infinity,
    sets: "none",
    deaths: false,
    hosted: true,
  };
}

/** Draws a run in which nobody does anything for days. */
function rested(random: Random): Scenario {
  const scenario = anything(random);
  const { length, clock, faults } = scenario;
  const from = length / 2;
  return {
    ...scenario,
    length: length + REST,
    thinking: random.pick([30, 1_000]),
    holding: random.pick([2, 4]),
    rest: { from, until: from + REST, sweeps: random.pick(["never", "at the end", "always"] as const) },
    sets: clock && faults ? "server" : scenario.sets,
    // Where the server has a clock, nobody goes by another one.
    clients: scenario.clients.map((drift) => clock ? { ...drift, skew: random.between(-WRONG, WRONG) } : drift),
  };
}

/** Draws a run in which messages take long, or are lost, and little else happens: leases are held until they end. */
function slow(random: Random): Scenario {
  const lease = random.spread(600, 3_000);
  return {
    ...anything(random),
    names: ["a"],
    workers: 1,
    leases: [lease, lease],
    shared: 0,
    impatient: random.pick([0, 0.3]),
    thinking: 30,
    holding: 4,
    length: random.between(15_000, 25_000),
    faults: true,
    quality: { ...FAULTLESS, lost: random.pick([0, 0.1]), delayed: random.pick([0, 0.3]), longest: lease / 2 },
    faultGap: 3_000,
    deaths: false,
  };
}

/** Draws a run in which processes die while they wait, and nothing else happens. */
function crashLoop(random: Random): Scenario {
  const scenario = anything(random);
  return {
    ...scenario,
    maxClockSkew: Math.max(scenario.maxClockSkew, FAR_APART),
    quality: { ...FAULTLESS, old: random.pick([0, 0.1]) },
    maxBytes: SMALL,
    names: ["a"],
    workers: 2,
    shared: 0,
    impatient: 0.3,
    // Whose process keeps the lock may come late, when that has read nothing for long.
    thinking: random.pick([1_000, 30_000]),
    holding: 0.1,
    length: 66_000,
    faults: true,
    faultGap: Infinity,
    crashes: 40,
  };
}

/** Draws a run in which only processes want the lock of a killed holder that each wait for less than its lease. */
function shortWaits(random: Random): Scenario {
  const maxClockSkew = random.pick([500, 2_000, 10_000]);
  const lease = random.spread(3_000, 10_000);
  const scenario = anything(random);
  return {
    ...scenario,
    clients: [driftOf(random, maxClockSkew / 2 - APART)],
    clock: false,
    second: undefined,
    maxBytes: undefined,
    maxClockSkew,
    names: ["a"],
    workers: 1,
    leases: [lease, lease],
    shared: 0,
    length: 120_000,
    faults: true,
    quality: { ...FAULTLESS, old: random.pick([0, 0.1]) },
    faultGap: Infinity,
    sets: "none",
    shortWaits: true,
  };
}

/** Draws a run on a server with timers, for clients whose clocks are wrong, and new ones that come all the time. */
function timed(random: Random): Scenario {
  const isStorm = random.chance(0.6);
  const scenario = isStorm ? crowded(random) : shortWaits(random);
  return {
    ...scenario,
    clients: scenario.clients.map((drift) => ({ ...drift, skew: random.between(-WRONG, WRONG) })),
    clock: false,
    timers: true,
    second: undefined,
    maxClockSkew: Infinity,
    maxBytes: undefined,
    sets: scenario.sets === "none" ? "none" : "clients",
    // No clock is set back while its machine sleeps.
    quality: { ...scenario.quality, leaps: 0 },
  };
}

/** Draws a run in which a few processes hold the lock for long, while others want it that have seen nothing yet. */
function crowded(random: Random): Scenario {
  const lease = random.spread(1_000, 6_000);
  return {
    ...anything(random),
    names: ["a"],
    workers: 1,
    leases: [lease, lease],
    impatient: 0,
    thinking: 30,
    holding: 4,
    longestHold: 20_000,
    length: 30_000,
    visitors: true,
  };
}

function driftOf(random: Random, skew: number): Drift {
  return {
    rate: 1 + random.between(-RATE, RATE),
    skew: random.between(-skew, skew),
    step: random.pick([0.01, 1]),
  };
}

function anything(random: Random): Scenario {
  const faults = random.chance(0.85);
  const clock = random.chance(0.5);
  const several = clock && random.chance(0.25);
  const sets = faults ? random.pick(["none", "none", "clients", clock ? "server" : "clients"] as const) : "none";
  // Where a wall clock is set it lies by more than that: nobody may go by it.
  const skews = several ? [500, 3_000, 10_000] : [500, 2_000, Infinity];
  const maxClockSkew = several || !clock && sets === "none" ? random.pick(skews) : clock ? 10_000 : Infinity;
  const skew = clock ? 100_000 : Math.min(maxClockSkew, 10_000) / 2 - APART;
  const drift = (): Drift => driftOf(random, skew);
  const lease = random.spread(200, 5_000);
  return {
    clients: Array.from({ length: random.integer(2, 4) }, drift),
    server: drift(),
    clock,
    timedWrites: random.chance(0.5),
    timers: false,
    watch: random.chance(0.5),
    news: random.chance(0.3),
    page: random.pick([1, 100]),
    second: several ? random.between(-maxClockSkew, maxClockSkew) : undefined,
    // Where it is small, a few waiters are many: with faults, since a further one may be refused.
    maxBytes: faults ? random.pick([undefined, undefined, SMALL]) : undefined,
    maxClockSkew,
    names: random.chance(0.7) ? ["a"] : ["a", SWEEPING],
    workers: random.integer(1, 3),
    leases: [lease, lease * random.pick([1, 4])],
    shared: random.pick([0, 0, 0.5]),
    impatient: random.pick([0, 0.3, 0.8]),
    patience: [20, 10_000],
    revokes: random.pick([0, 0, 0.05]),
    hosted: false,
    handsOn: random.chance(0.4),
    thinking: random.pick([30, 1_000, 4_000]),
    holding: random.pick([0.1, 2, 4]),
    longestHold: LONGEST_HOLD,
    length: faults ? random.between(8_000, 25_000) : 6_000,
    faults,
    quality: !faults ? { ...FAULTLESS, old: random.pick([0, 0.2]), repeated: random.pick([0, 0.1]) } : {
      lost: random.pick([0, 0.01, 0.1]),
      doubled: random.pick([0, 0.02, 0.2]),
      repeated: random.pick([0, 0.1]),
      delayed: random.pick([0, 0.02, 0.2]),
      longest: random.pick([100, 4_000]),
      old: random.pick([0, 0, 0.1]),
      missed: random.pick([0, 0.1]),
      // Where two machines decide, or a clock is set, that is more than they may be apart.
      leaps: several || sets !== "none" ? 0 : random.pick([0, 0, 0.03]),
    },
    faultGap: random.spread(200, 3_000),
    sets,
    deaths: faults && random.chance(0.6),
    rest: undefined,
    crashes: 0,
    shortWaits: false,
    visitors: false,
    kinds: false,
    cohort: undefined,
    closes: false,
    closed: false,
    lists: true,
    outpaced: false,
    many: false,
    described: 0,
    strangers: false,
  };
}
