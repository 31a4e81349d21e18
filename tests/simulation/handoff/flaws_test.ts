// Deno only: it runs in a simulated world, of which the runtime is no part.
import { assertNoticed, firstSeeds } from "../kernel/runs.ts";
import { FLAWS } from "./flaws.ts";
import { play } from "./play.ts";

/** Within how many worlds a flaw must have been noticed. */
const NOTICED_WITHIN = 500;

for (const [flaw, rules, make, handoff = "none"] of FLAWS) {
  Deno.test(`play() notices a store that ${flaw}`, async () => {
    const playWith = (seed: number) => play(seed, { handoff, flaw: make });
    for (const rule of rules) await assertNoticed(playWith, firstSeeds(NOTICED_WITHIN), RegExp(`^${rule}: `));
  });
}
