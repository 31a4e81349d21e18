import { assert, assertEquals } from "@std/assert";
import { flaws } from "./flaws.ts";
import { parseOptions } from "./options.ts";
import { simulate } from "./simulate.ts";

/** How many runs there are on every change. */
const SEEDS = 2_000;

/** Within how many runs a flaw must have been noticed. */
const NOTICED_WITHIN = 300;

Deno.test("RedlockStore keeps its promises in 2,000 simulated runs", async () => {
  let granted = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const outcome = await simulate(seed);
    const again = `deno task sim --seeds 1 --from ${seed} --verbose`;
    assertEquals(outcome.violations, [], `seed ${seed}; to see it: ${again}`);
    granted += outcome.granted;
  }
  assert(granted > 5 * SEEDS, `only ${granted} locks granted`);
});

for (const [flaw, makeStore] of Object.entries(flaws)) {
  Deno.test(`simulate() notices ${flaw}`, async () => {
    for (let seed = 1; seed <= NOTICED_WITHIN; seed++) {
      const { violations } = await simulate(seed, { makeStore });
      if (violations.length > 0) return;
    }
    throw new Error(`not noticed in ${NOTICED_WITHIN} runs`);
  });
}

Deno.test("simulate() does the same again for the same seed", async () => {
  let lines = 0;
  for (let seed = 1; seed <= 10; seed++) {
    const told = await story(seed);
    assertEquals(await story(seed), told);
    lines += told.length;
  }
  assert(lines > 1_000, `only ${lines} lines`);
});

Deno.test("parseOptions() refuses what is no number of seeds", () => {
  assertEquals(parseOptions(["--seeds", "7", "--from", "0"]), { help: false, verbose: false, seeds: 7, from: 0 });
  for (const args of [["--seeds", "0"], ["--seeds", "many"], ["--from", "-1"], ["--from="], ["--sedes", "3"], ["3"]]) {
    let refused = false;
    try {
      parseOptions(args);
    } catch {
      refused = true;
    }
    assert(refused, args.join(" "));
  }
});

async function story(seed: number): Promise<string[]> {
  const lines: string[] = [];
  await simulate(seed, { tell: (line) => lines.push(line) });
  return lines;
}
