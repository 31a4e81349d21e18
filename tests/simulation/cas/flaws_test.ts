// Deno only: it runs in a simulated world, of which the runtime is no part.
import { assert } from "@std/assert";
import { abandonAttempts, giveUpTheTurn, missTheTurn, tellWrongTime } from "./directed.ts";
import { type Flaw, flawed, FLAWS } from "./flaws.ts";
import { scenarioOf } from "./scenario.ts";
import { simulate } from "./simulate.ts";

/** Within how many runs a fault must be noticed. */
const SEEDS = 2_000;

for (const [name, flaw] of Object.entries(FLAWS)) {
  Deno.test(`simulate() of cas() notices ${name}`, () => assertNoticed(flaw));
}

/** Asserts that a fault is noticed by what it must cause. */
async function assertNoticed(flaw: Flaw): Promise<void> {
  const options = await flawed(flaw);
  const isNoticed = (violations: readonly string[]) => violations.some((what) => flaw.causes.test(what));
  if (flaw.directed) {
    const schedules = [abandonAttempts, giveUpTheTurn, missTheTurn, tellWrongTime];
    const violations: string[] = [];
    for (const run of schedules) violations.push(...await run(options));
    return assert(isNoticed(violations), "not noticed");
  }
  for (const seed of [flaw.seed ?? 1, ...Array.from({ length: SEEDS }, (_, i) => i + 1)]) {
    if (flaw.in?.(scenarioOf(seed)) === false) continue;
    if (isNoticed((await simulate(seed, options)).violations)) return;
  }
  throw new Error(`not noticed in ${SEEDS} runs`);
}
