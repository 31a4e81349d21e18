// Deno only: it takes long, and explores a model.
import { assert, assertEquals } from "@std/assert";
import { assertNoticed, firstSeeds } from "../kernel/runs.ts";
import { run } from "./model.ts";
import { RULES, type Rules } from "./process.ts";
import type { Kind } from "./server.ts";

/** How many runs there are, and within how many a rule that is left out must be missed. */
const SEEDS = 100;
const NOTICED = 500;

const TWO_HOLD = "two hold the lock";

/** What happens without each rule, and on which servers. */
const LEFT_OUT: Readonly<Record<keyof Rules, { readonly causes: string; readonly on: readonly Kind[] }>> = {
  startsAnew: { causes: TWO_HOLD, on: ["keys"] },
  clears: { causes: TWO_HOLD, on: ["keys", "stamps"] },
  confirms: { causes: TWO_HOLD, on: ["keys"] },
  lasts: { causes: TWO_HOLD, on: ["keys", "stamps"] },
  drifts: { causes: TWO_HOLD, on: ["keys", "stamps"] },
  bothClocks: { causes: TWO_HOLD, on: ["keys", "stamps"] },
  comparesNames: { causes: TWO_HOLD, on: ["keys", "stamps"] },
  comparesGrants: { causes: TWO_HOLD, on: ["keys", "stamps"] },
  asksAfter: { causes: TWO_HOLD, on: ["keys"] },
  knowsEpochs: { causes: TWO_HOLD, on: ["stamps"] },
  renewsAtOnce: { causes: "a live holder loses the lock", on: ["keys", "stamps"] },
  callersName: { causes: "nobody is granted the lock of a dead holder", on: ["keys", "stamps"] },
  serverDecides: { causes: TWO_HOLD, on: ["keys", "stamps"] },
};

for (const kind of ["keys", "stamps"] as const) {
  Deno.test(`run() finds nothing wrong with timers that are ${kind}`, async () => {
    let granted = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const found = await run(seed, kind, RULES);
      assertEquals([seed, found.violations], [seed, []]);
      granted += found.granted;
    }
    assert(granted > 10 * SEEDS, `only ${granted} locks granted`);
  });
}

for (const [rule, { causes, on }] of Object.entries(LEFT_OUT)) {
  for (const kind of on) {
    Deno.test(`run() misses the rule ${rule} of timers that are ${kind}`, () => {
      return assertNoticed((seed) => run(seed, kind, { ...RULES, [rule]: false }), firstSeeds(NOTICED), RegExp(causes));
    });
  }
}
