import type { Capability } from "../../../src/contract/store.ts";
import { Random } from "../kernel/random.ts";
import type { Line } from "./connection.ts";
import type { HandoffKind } from "./stores.ts";

/** What a task or somebody else does. */
export type Deed =
  | "acquire"
  | "try"
  | "all"
  | "shared"
  | "permits"
  | "owner"
  | "abort"
  | "release"
  | "extend"
  | "query"
  | "steal"
  | "evict"
  | "stall"
  | "outage"
  | "hang"
  | "close"
  | "dispose";

/** The kinds of worlds: what goes wrong in them. */
export const THEMES = ["calm", "lost replies", "revocations", "slow", "faults", "ends"] as const;
export type Theme = (typeof THEMES)[number];

/** How locks are handed on. */
export const HANDOFFS = ["none", "default", "keep", "linger"] as const;
export type HandoffName = (typeof HANDOFFS)[number];

/** What one run is like. A seed determines it, and all that happens in it. */
export interface Scenario {
  readonly theme: Theme;
  readonly handoff: HandoffKind;
  readonly names: readonly string[];
  readonly processes: number;
  readonly line: Line;
  /** How many things are done. */
  readonly deeds: number;
  readonly weights: ReadonlyMap<Deed, number>;
  readonly leases: readonly number[];
  /** How long handles have the lock, in milliseconds. */
  readonly sections: readonly number[];
  /** How likely a handle is never released, nor renewed. */
  readonly forgets: number;
  /** How likely a handle reads its signal. */
  readonly reads: number;
  /** How likely a task acquires again right behind its release. */
  readonly repeats: number;
  /** How likely something is done when a reply comes. */
  readonly reacts: number;
  /** Between what is done, in milliseconds. */
  readonly pauses: readonly number[];
  /** How likely a call is lost, or made twice, between its caller and what hands locks on. */
  readonly door: number;
  /**
   * Whether the process makes its cohort, and another one, of its connection itself, to which nobody else has access.
   */
  readonly bare: boolean;
  /** How likely a lock is kept for some time, although it is released before. */
  readonly keeps: number;
  /** How long an outage takes, in milliseconds. */
  readonly outages: readonly number[];
}

const CAPABILITIES: readonly Capability[] = ["shared", "permits", "owner", "steal", "evict", "query"];

/** Draws a scenario. With `handoff` or `theme` that is as given. */
export function drawScenario(
  seed: number,
  only: { handoff?: HandoffName | undefined; theme?: Theme | undefined } = {},
): Scenario {
  const random = new Random(seed);
  const handoff = drawHandoff(only.handoff ?? random.pick(["default", "keep", "linger"]), random);
  const theme = only.theme ?? random.pick(THEMES);
  const trip = random.pick([[0, 0], [0, 0], [0, 1], [1, 3], [1, 3], [10, 40]] as const);
  const isSlow = trip[1] > 5;
  const goesWrong = theme === "faults" || theme === "ends" && random.chance(1 / 3);
  const calm = theme === "calm";
  const rate = (usual: number) => goesWrong ? random.pick([0, usual, usual, 3 * usual]) : 0;
  const own = capabilities(handoff, random);
  const ordered = random.chance(3 / 4);
  const listens = handoff === "none" || theme !== "faults" && theme !== "ends" ||
    new Random(seed ^ 0x1157).chance(3 / 4);
  const line: Line = {
    capabilities: [...CAPABILITIES, ...own],
    trip,
    ordered,
    succeeds: new Random(seed ^ 0x51de).chance(3 / 4),
    timeout: goesWrong && random.chance(1 / 3) ? random.pick([100, 500]) : undefined,
    faults: theme === "lost replies"
      ? { request: 0, reply: 0.1, late: 0, never: 0 }
      : theme === "slow"
      ? { request: 0, reply: 0, late: 0.1, never: 0 }
      : theme === "revocations"
      // On a line that keeps the order all that is sent later would be late as well.
      ? { request: 0, reply: 0, late: ordered ? 0 : 0.5, never: 0 }
      : { request: rate(0.03), reply: rate(0.03), late: rate(0.02), never: rate(0.005) },
    ages: random.pick([0, 0, 0.2]),
    // The server forgets a waiter that neither attempts nor listens, whoever names it: other processes may then
    // overtake it.
    sleeps: listens && typeof handoff !== "string" && new Random(seed ^ 0x51ee).chance(1 / 4),
    listens,
    faulty: theme === "lost replies"
      ? ["attempt"]
      : theme === "slow"
      ? [random.pick(["attempt", "renew", "release"] as const)]
      : theme === "revocations"
      ? ["evict"]
      : ["attempt", "renew", "release", "succeed", "evict"],
  };
  const mixed = random.chance(1 / 2);
  const rough = theme === "faults" || theme === "ends";
  const some = (weight: number) => random.chance(1 / 3) ? weight : 0;
  const weights: [Deed, number][] = [
    ["acquire", random.pick([10, 10, 3])],
    ["try", random.pick([0, 0, 4, 12])],
    ["all", random.pick([0, 0, 3, 8])],
    ["shared", mixed ? some(4) : 0],
    ["permits", mixed ? some(2) : 0],
    ["owner", mixed ? some(3) : 0],
    ["abort", some(6)],
    ["release", some(3)],
    ["extend", some(2)],
    ["query", some(1)],
    ["steal", theme === "revocations" ? 2 : rough ? some(1) : 0],
    ["evict", theme === "revocations" ? 2 : rough ? some(1) : 0],
    ["stall", theme === "faults" ? some(1) : 0],
    ["outage", theme === "faults" ? some(1) : 0],
    ["hang", theme === "faults" ? some(1) : 0],
    ["close", theme === "ends" ? random.pick([0, 0.3, 0.3, 2]) : 0],
    ["dispose", theme === "ends" ? random.pick([0, 0.3, 2]) : 0],
  ];
  // By numbers of its own, so that the other worlds stay what they are.
  const more = new Random(seed ^ 0xd00e);
  const isLong = theme === "faults" && more.chance(1 / 4);
  const longLeases = isSlow && !random.chance(1 / 4) ? [1_000, 5_000] : [300, 1_000, 5_000];
  return {
    theme,
    handoff,
    names: random.chance(3 / 4) ? ["a"] : ["a", "b"],
    processes: random.integer(1, 3),
    line,
    deeds: random.integer(10, 80),
    weights: new Map(weights),
    leases: random.pick([
      [5_000],
      longLeases,
      isSlow ? [50, 1_000, 5_000, 5_000, 5_000] : [50, 300, 1_000, 5_000],
      isSlow ? longLeases : calm ? [200, 5_000] : [50, 200],
    ]),
    sections: random.pick([
      [0],
      [0, 0, 1, 3],
      [0, 1, 5, 20],
      [10, 30],
      theme === "ends" || theme === "slow" ? [1, 50, 3_000] : [1, 5, 300],
    ]),
    forgets: random.chance(1 / 4) ? 0.08 : 0,
    reads: random.pick([0, 0.3, 1]),
    repeats: random.pick([0, 0.3, 0.7]),
    reacts: random.pick([0, 0.2, 0.5]),
    pauses: isLong ? [0, 50, 5_000] : random.pick([[0], [0, 0, 1, 2], [0, 1, 5, 20], [0, 5, 50, 400]]),
    door: theme !== "calm" && more.chance(1 / 6) ? more.pick([0.05, 0.3]) : 0,
    bare: typeof handoff !== "string" && more.chance(1 / 4),
    keeps: theme === "faults" || theme === "slow" ? more.pick([0, 0.1]) : 0,
    outages: isLong ? [100, 9_000] : [100, 1_000, 5_000],
  };
}

function drawHandoff(name: HandoffName, random: Random): HandoffKind {
  if (name === "none" || name === "default") return name;
  const keep = random.pick([1, 10, 10, 100, 1_000, 10_000]);
  return { keep, linger: name === "keep" ? 0 : Math.min(random.pick([1, 5, keep]), keep) };
}

/** Most stores grant runs and reserve fences. */
function capabilities(handoff: HandoffKind, random: Random): Capability[] {
  if (handoff === "none") return [];
  return random.chance(5 / 6) ? ["fences", "runs"] : random.pick<Capability[]>([["fences"], ["runs"], []]);
}
