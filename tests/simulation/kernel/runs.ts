import { setImmediate } from "node:timers/promises";
import type { Taken } from "./taken.ts";

/** How the run of a seed ended. */
export interface RunOutcome {
  /** What happened that must not; nothing when all is well. */
  readonly violations: readonly string[];
  /** How many locks were granted. */
  readonly granted: number;
  /** How often each transition was taken, where they are counted. */
  readonly transitions?: Taken<string>;
}

/** Plays the run of a seed, and passes each line of its log to `log`. */
export type Play = (seed: number, log?: (line: string) => void) => Promise<RunOutcome>;

/** How many lines are shown of the log of a run that failed, besides the first one. */
const SHOWN = 120;

/** Returns so many seeds, from 1 on. */
export function firstSeeds(seeds: number): number[] {
  return Array.from({ length: seeds }, (_, i) => 1 + i);
}

/** Plays the run of a seed. A rejection that nobody handles is a violation as well. */
export async function attended(play: Play, seed: number, log?: (line: string) => void): Promise<RunOutcome> {
  const unhandled: string[] = [];
  const note = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    unhandled.push(`unhandled rejection: ${event.reason}`);
  };
  globalThis.addEventListener("unhandledrejection", note);
  try {
    const outcome = await play(seed, log);
    await setImmediate();
    return { ...outcome, violations: [...outcome.violations, ...unhandled] };
  } finally {
    globalThis.removeEventListener("unhandledrejection", note);
  }
}

/** Plays the run of a seed, and returns its log. */
export async function logOf(play: Play, seed: number): Promise<string[]> {
  const lines: string[] = [];
  await attended(play, seed, (line) => lines.push(line));
  return lines;
}

/**
 * Returns what led to violations, by the log of their run, and how to play it again with options of `deno task sim`.
 */
export function reportOf(seed: number, violations: readonly string[], log: readonly string[], options: string): string {
  const left = log.length > SHOWN + 1
    ? [log[0]!, "            … (all of it with --verbose)", ...log.slice(-SHOWN)]
    : log;
  const what = violations.map((violation) => `  ${violation}`);
  const again = `Again: deno task sim ${options} --seeds 1 --from ${seed} --verbose`;
  return [...left, "", `Seed ${seed} fails:`, ...what, again].join("\n");
}

/** Asserts that a planted flaw causes such a violation in one of the runs of these seeds. */
export async function assertNoticed(play: Play, seeds: Iterable<number>, causes: RegExp): Promise<void> {
  let runs = 0;
  for (const seed of seeds) {
    const { violations } = await attended(play, seed);
    if (violations.some((violation) => causes.test(violation))) return;
    runs++;
  }
  throw new Error(`not noticed in ${runs} runs`);
}
