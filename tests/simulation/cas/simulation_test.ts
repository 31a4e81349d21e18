// Deno only: it runs in a simulated world, of which the runtime is no part.
import { assert, assertEquals } from "@std/assert";
import { flawed, FLAWS } from "./flaws.ts";
import { simulate } from "./simulate.ts";
import { Transitions } from "./transitions.ts";

/** How many runs there are on every change, and within how many a fault must be noticed. */
const SEEDS = 2_000;

Deno.test("cas() keeps its promises in 2,000 simulated runs", async () => {
  let granted = 0;
  const transitions = new Transitions();
  for (let seed = 1; seed <= SEEDS; seed++) {
    const outcome = await simulate(seed);
    assertEquals(outcome.violations, [], `seed ${seed}`);
    granted += outcome.granted;
    transitions.add(outcome.transitions);
  }
  assert(granted > 10 * SEEDS, `only ${granted} locks granted`);
  assertEquals(transitions.missing, [], "never taken, and so not tested");
});

for (const flaw of FLAWS) {
  Deno.test(`simulate() of cas() notices ${flaw}`, async () => {
    const options = await flawed(flaw);
    for (let seed = 1; seed <= SEEDS; seed++) if ((await simulate(seed, options)).violations.length > 0) return;
    throw new Error(`not noticed in ${SEEDS} runs`);
  });
}
