// Deno only: it runs in a simulated world, of which the runtime is no part.
import { FLAWS } from "./flaws.ts";
import { play } from "./play.ts";

/** Within how many worlds a flaw must have been noticed. */
const NOTICED_WITHIN = 500;

for (const [flaw, rules, make] of FLAWS) {
  Deno.test(`play() notices a store that ${flaw}`, async () => {
    const noticed = new Set<string>();
    for (let seed = 1; seed <= NOTICED_WITHIN; seed++) {
      const { violations } = await play(seed, { handoff: "none", flaw: make });
      for (const { rule } of violations) noticed.add(rule);
      if (rules.every((rule) => noticed.has(rule))) return;
    }
    throw new Error(`not noticed in ${NOTICED_WITHIN} worlds; but ${[...noticed].join(", ") || "nothing"}`);
  });
}
