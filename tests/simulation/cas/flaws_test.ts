// Deno only: it runs in a simulated world, of which the runtime is no part.
import { assert } from "@std/assert";
import { assertNoticed, firstSeeds } from "../kernel/runs.ts";
import { abandonAttempts, giveUpTheTurn, missTheTurn, tellWrongTime } from "./directed.ts";
import { type Flaw, flawed, FLAWS } from "./flaws.ts";
import { scenarioOf } from "./scenario.ts";
import { simulate } from "./simulate.ts";

/** Within how many runs a fault must be noticed. */
const SEEDS = 2_000;

for (const [name, flaw] of Object.entries(FLAWS)) {
  Deno.test(`simulate() of cas() notices ${name}`, () => flaw.directed ? assertDirected(flaw) : assertRandom(flaw));
}

async function assertRandom(flaw: Flaw): Promise<void> {
  const options = await flawed(flaw);
  const seeds = [flaw.seed ?? 1, ...firstSeeds(SEEDS)].filter((seed) => flaw.in?.(scenarioOf(seed)) ?? true);
  await assertNoticed((seed) => simulate(seed, options), seeds, flaw.causes);
}

async function assertDirected(flaw: Flaw): Promise<void> {
  const options = await flawed(flaw);
  const violations: string[] = [];
  for (const run of [abandonAttempts, giveUpTheTurn, missTheTurn, tellWrongTime]) {
    violations.push(...await run(options));
  }
  assert(violations.some((what) => flaw.causes.test(what)), "not noticed");
}
