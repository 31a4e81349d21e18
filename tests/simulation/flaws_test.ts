// Deno only: it runs in a simulated world, of which the runtime is no part.
import { handoffFlaws } from "./flawed_handoffs.ts";
import { flaws } from "./flaws.ts";
import { themeOf } from "./scenario.ts";
import { simulate, type SimulationOptions } from "./simulate.ts";

/** Within how many runs a flaw must have been noticed, of those that suit it. */
const NOTICED_WITHIN = 300;

/** By what a flaw must be noticed, where anything else is not enough. */
const NOTICED_BY: Readonly<Record<string, RegExp>> = {
  "a vote for everybody": /^both hold /,
  "a counter said to be raised that is not": / follows /,
  "a fence confirmed and not kept": / issued twice$/,
};

for (const [flaw, makeStore] of Object.entries(flaws)) {
  Deno.test(`simulate() notices ${flaw}`, () => assertNoticed({ makeStore }, () => true, NOTICED_BY[flaw]));
}

for (const [flaw, makeHandoff] of Object.entries(handoffFlaws)) {
  Deno.test(`simulate() notices ${flaw}`, () => {
    return assertNoticed({ makeHandoff }, (seed) => ["runs", "cohorts"].includes(themeOf(seed)));
  });
}

/** Asserts that a flaw is noticed in the first runs that are worth it, all of which are among those of a change. */
async function assertNoticed(flaw: SimulationOptions, suits: (seed: number) => boolean, by = /./): Promise<void> {
  const seeds = Array.from({ length: 2_000 }, (_, i) => i + 1).filter(suits).slice(0, NOTICED_WITHIN);
  for (const seed of seeds) if ((await simulate(seed, flaw)).violations.some((what) => by.test(what))) return;
  throw new Error(`not noticed in ${seeds.length} runs`);
}
