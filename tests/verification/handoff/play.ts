import { setImmediate } from "node:timers/promises";
import type { Flaw } from "./flaws.ts";
import { drawScenario, type HandoffName, type Theme } from "./scenario.ts";
import type { Mechanism } from "./stores.ts";
import { type Outcome, World } from "./world.ts";

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
export async function play(seed: number, { log, flaw, mechanism, ...only }: PlayOptions = {}): Promise<Outcome> {
  const unhandled: unknown[] = [];
  const note = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    unhandled.push(event.reason);
  };
  globalThis.addEventListener("unhandledrejection", note);
  try {
    const outcome = await new World(seed, drawScenario(seed, only), { log, flaw, mechanism }).run();
    await setImmediate();
    const violations = unhandled.map((reason) => ({ rule: "unhandled rejection", what: String(reason) }));
    return { ...outcome, violations: [...outcome.violations, ...violations] };
  } finally {
    globalThis.removeEventListener("unhandledrejection", note);
  }
}
