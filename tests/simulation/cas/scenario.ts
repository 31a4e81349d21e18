import type { Drift } from "../machine.ts";
import { Random } from "../random.ts";
import { FAULTLESS, type Quality } from "./server.ts";

/** A time in which nobody does anything, in milliseconds since the beginning. */
export interface Rest {
  readonly from: number;
  readonly until: number;
  /** Whether documents are swept at its end. */
  readonly sweeps: boolean;
}

/** What a run is about. */
export interface Scenario {
  readonly clients: readonly Drift[];
  readonly server: Drift;
  /** Whether the server has a clock, tells it when it has written, and notifies of changes. */
  readonly clock: boolean;
  readonly timedWrites: boolean;
  readonly watch: boolean;
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
  /** How often a caller does not wait. */
  readonly impatient: number;
  /** Whether locks are handed on inside a client. */
  readonly handsOn: boolean;
  /** How long a worker thinks at the most, in milliseconds. */
  readonly thinking: number;
  /** How long a lock is held at the most, in leases. */
  readonly holding: number;
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
}

/** How much faster or slower a clock may be than allowed for: the drift of a lease is 1 %, for both sides together. */
const RATE = 0.004;

/** How far two clocks move away from true time until a run ends, each, with something to spare, in milliseconds. */
const APART = 125;

/** How far two clocks are apart at the most at the end of a crash loop, which takes longer, in milliseconds. */
const FAR_APART = 3_000;

/** The largest document where a few waiters are many, in bytes. */
const SMALL = 6_500;

/** For how long nobody does anything: longer than documents are kept that nobody uses. */
const REST = 8 * 24 * 3_600_000;

/** Returns what the run of a seed is about. */
export function scenarioOf(seed: number): Scenario {
  return draw(new Random(seed));
}

/** Draws the run of a seed. */
export function draw(random: Random): Scenario {
  const theme = random.next();
  if (theme < 0.025) return crashLoop(random);
  if (theme < 0.125) return rested(random);
  return theme < 0.225 ? slow(random) : anything(random);
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
    rest: { from, until: from + REST, sweeps: random.chance(0.5) },
    sets: clock && faults ? "server" : scenario.sets,
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
    thinking: 1_000,
    holding: 0.1,
    length: 66_000,
    faults: true,
    faultGap: Infinity,
    crashes: 40,
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
  const drift = (): Drift => ({
    rate: 1 + random.between(-RATE, RATE),
    skew: random.between(-skew, skew),
    step: random.pick([0.01, 1]),
  });
  const lease = random.spread(200, 5_000);
  return {
    clients: Array.from({ length: random.integer(2, 4) }, drift),
    server: drift(),
    clock,
    timedWrites: random.chance(0.5),
    watch: random.chance(0.5),
    second: several ? random.between(-maxClockSkew, maxClockSkew) : undefined,
    // Where it is small, a few waiters are many: with faults, since a further one may be refused.
    maxBytes: faults ? random.pick([undefined, undefined, SMALL]) : undefined,
    maxClockSkew,
    names: random.chance(0.7) ? ["a"] : ["a", "b"],
    workers: random.integer(1, 3),
    leases: [lease, lease * random.pick([1, 4])],
    shared: random.pick([0, 0, 0.5]),
    impatient: random.pick([0, 0.3, 0.8]),
    handsOn: random.chance(0.4),
    thinking: random.pick([30, 1_000, 4_000]),
    holding: random.pick([0.1, 2, 4]),
    length: faults ? random.between(8_000, 25_000) : 6_000,
    faults,
    quality: !faults ? { ...FAULTLESS, old: random.pick([0, 0.2]) } : {
      lost: random.pick([0, 0.01, 0.1]),
      doubled: random.pick([0, 0.02, 0.2]),
      delayed: random.pick([0, 0.02, 0.2]),
      longest: random.pick([100, 4_000]),
      old: random.pick([0, 0, 0.1]),
      missed: random.pick([0, 0.1]),
    },
    faultGap: random.spread(200, 3_000),
    sets,
    deaths: faults && random.chance(0.6),
    rest: undefined,
    crashes: 0,
  };
}
