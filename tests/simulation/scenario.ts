import type { Drift } from "./machine.ts";
import type { Quality } from "./network.ts";
import type { Random } from "./random.ts";

/**
 * How bad the weather is. *Calm*: nothing fails. *Timed*: anything fails, but within what mutual exclusion rests on: clocks
 * that drift less than allowed, and nodes that keep their data or stay down for longer than any lease. *Wild*: anything.
 */
export type Weather = "calm" | "timed" | "wild";

/** What a run is about. */
export interface Scenario {
  readonly weather: Weather;
  readonly nodes: readonly Drift[];
  readonly clients: readonly Drift[];
  /** How many acquire at the same time on each client. */
  readonly workers: number;
  readonly names: readonly string[];
  /** How often a lock is asked for in shared mode. */
  readonly shared: number;
  /** The bounds of leases, in milliseconds. */
  readonly leases: readonly [number, number];
  /** As the store takes it, in milliseconds. */
  readonly nodeTimeout: number | undefined;
  /** For how long there are faults and new acquires, in milliseconds. */
  readonly length: number;
  readonly quality: Quality;
  /** The usual time between two faults, in milliseconds. */
  readonly lull: number;
  /** Whether nodes lose their data when they go down, sometimes. */
  readonly wipes: boolean;
  /** Whether wall clocks are set. */
  readonly clockSet: boolean;
  /** Whether processes are suspended, with their monotonic clocks standing still. */
  readonly suspensions: boolean;
  /** Whether clients die, and connections that are gone leave them hanging; else only leases outlive their holders. */
  readonly deaths: boolean;
  /** How far the wall clocks can be apart, in milliseconds. */
  readonly apart: number;
}

/** The drift allowance of the store under test, and of the leases in it. */
export const DRIFT_FACTOR = 0.01;

/** How much faster or slower clocks run than true time: two of them within the allowance, or far outside it. */
const RATES = { calm: 0.004, timed: 0.004, wild: 0.1 } as const;

/** Draws a scenario. */
export function draw(random: Random): Scenario {
  const weather = random.pick(["calm", "timed", "timed", "timed", "timed", "wild", "wild", "wild"] as const);
  // With long leases nobody may have to wait for the end of one: nobody dies, or takes one to be over that is not.
  const long = random.chance(0.2);
  const wipes = !long && weather !== "calm" && random.chance(0.4);
  const connected = random.chance(0.5);
  const length = random.between(1_500, 8_000);
  // Where counters are lost only clocks keep fences in order: these agree well then.
  const rate = wipes ? RATES.timed : RATES[weather];
  const skew = wipes ? random.pick([0, 50]) : random.pick([0, 100, 5_000, 20_000]);
  const clock = () => ({ rate: 1 + random.between(-rate, rate), skew: random.between(-skew, skew) });
  const clockSet = weather !== "calm" && !wipes && !long && random.chance(0.5);
  return {
    weather,
    nodes: Array.from({ length: random.pick([1, 2, 3, 3, 3, 3, 4, 5, 5, 5, 7]) }, clock),
    clients: Array.from({ length: random.integer(1, 4) }, clock),
    workers: random.integer(1, 2),
    names: random.chance(0.8) ? ["a"] : ["a", "b"],
    shared: random.pick([0, 0, 0.3, 0.8]),
    leases: long ? [10_000, 20_000] : random.pick([[100, 300], [300, 1_000], [100, 3_000]]),
    // Where nothing fails nothing may time out: the first wait of a client takes three round trips, or more.
    nodeTimeout: random.pick([undefined, weather === "calm" ? 50 : 10, 50, 1_000]),
    length,
    quality: weather === "calm" ? { lost: 0, doubled: 0, delayed: 0, hangs: false, connected } : {
      lost: random.pick([0, 0.01, 0.1]),
      // The second copy of a vote may come after everything else, and holds for its whole lease.
      doubled: long ? 0 : random.pick([0, 0.02, 0.2]),
      delayed: random.pick([0, 0.02, 0.2, 0.4]),
      hangs: !long,
      connected,
    },
    lull: random.spread(100, 3_000),
    wipes,
    clockSet,
    // Where both clocks lie at once nobody can know how long it was away.
    suspensions: weather !== "calm" && !clockSet,
    deaths: !long,
    apart: 2 * (skew + length * rate),
  };
}

/** A scenario in a line. */
export function describe(scenario: Scenario): string {
  const { weather, nodes, clients, workers, names, shared, leases, nodeTimeout, length, quality } = scenario;
  const { wipes, clockSet } = scenario;
  const { lost, doubled, delayed, connected } = quality;
  return [
    `${weather} weather for ${length.toFixed(0)} ms`,
    `${nodes.length} nodes`,
    `${clients.length} clients of ${workers}`,
    `${names.length} names`,
    ...(shared === 0 ? [] : [`${shared * 100} % shared`]),
    `leases of ${leases.join(" to ")} ms`,
    ...(nodeTimeout === undefined ? [] : [`nodes time out after ${nodeTimeout} ms`]),
    ...(connected ? ["connections"] : []),
    `${lost * 100} % of messages lost, ${doubled * 100} % doubled, ${delayed * 100} % delayed`,
    ...(wipes ? ["data losses"] : []),
    ...(clockSet ? ["clocks set"] : []),
  ].join(", ");
}
