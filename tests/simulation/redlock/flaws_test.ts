// Deno only: it runs in a simulated world, of which the runtime is no part.
import { assertNoticed, firstSeeds } from "../kernel/runs.ts";
import { handoffFlaws } from "./flawed_handoffs.ts";
import { flaws } from "./flaws.ts";
import { themeOf } from "./scenario.ts";
import { simulate } from "./simulate.ts";

/** Within how many runs a flaw must have been noticed, of those that suit it. */
const NOTICED_WITHIN = 300;

/** By what a flaw must be noticed, where anything else is not enough. */
const NOTICED_BY: Readonly<Record<string, RegExp>> = {
  "a vote for everybody": /^both hold /,
  "a counter said to be raised that is not": / follows /,
  "a fence confirmed and not kept": / issued twice$/,
};

/** The seeds of the runs on every change. */
const SEEDS = firstSeeds(2_000);

for (const [flaw, makeStore] of Object.entries(flaws)) {
  Deno.test(`simulate() notices ${flaw}`, () => {
    return assertNoticed(
      (seed) => simulate(seed, { makeStore }),
      SEEDS.slice(0, NOTICED_WITHIN),
      NOTICED_BY[flaw] ?? /./,
    );
  });
}

for (const [flaw, makeHandoff] of Object.entries(handoffFlaws)) {
  Deno.test(`simulate() notices ${flaw}`, () => {
    const suited = SEEDS.filter((seed) => ["runs", "cohorts"].includes(themeOf(seed)));
    return assertNoticed((seed) => simulate(seed, { makeHandoff }), suited.slice(0, NOTICED_WITHIN), /./);
  });
}
