import type { RunOutcome } from "../kernel/runs.ts";
import type { Flaw } from "./flaws.ts";
import { drawScenario, type HandoffName, type Theme } from "./scenario.ts";
import type { Mechanism } from "./stores.ts";
import { World } from "./world.ts";

/** How to play a seed. */
export interface PlayOptions {
  /** Takes each line of the log. */
  readonly log?: ((line: string) => void) | undefined;
  readonly handoff?: HandoffName | undefined;
  readonly theme?: Theme | undefined;
  /** What the stores of a process do wrong. */
  readonly flaw?: Flaw | undefined;
  /** What hands locks on. */
  readonly mechanism?: Mechanism | undefined;
}

/** Runs the world of a seed, and returns what was wrong. */
export function play(seed: number, { log, flaw, mechanism, ...only }: PlayOptions = {}): Promise<RunOutcome> {
  return new World(seed, drawScenario(seed, only), { log, flaw, mechanism }).run();
}
