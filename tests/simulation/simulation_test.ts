// Deno only: it runs in a simulated world, of which the runtime is no part.
import { assert, assertEquals } from "@std/assert";
import { DenoProcess } from "../support/deno_process.ts";
import { handoffFlaws } from "./flawed_handoffs.ts";
import { flaws } from "./flaws.ts";
import { untested } from "./main.ts";
import { parseOptions } from "./options.ts";
import { themeOf } from "./scenario.ts";
import { simulate, type SimulationOptions } from "./simulate.ts";

/** How many runs there are on every change. */
const SEEDS = 2_000;

/** Within how many runs a flaw must have been noticed. */
const NOTICED_WITHIN = 300;

/** By what a flaw must be noticed, where anything else is not enough. */
const NOTICED_BY: Readonly<Record<string, RegExp>> = {
  "a vote for everybody": /^both hold /,
  "a counter said to be raised that is not": / follows /,
  "a fence confirmed and not kept": / issued twice$/,
};

Deno.test("RedlockStore and the store on Redis keep their promises in 2,000 simulated runs", async () => {
  // By the command that developers use, which also finds transitions that were never taken.
  await using simulator = new DenoProcess(import.meta.resolve("./main.ts"), "--seeds", `${SEEDS}`, "--coverage");
  const output = (await Array.fromAsync(simulator.lines)).join("\n");
  assert((await simulator.status).success, output);
  const granted = Number(/(\d+) locks granted, nothing wrong/.exec(output)?.[1] ?? 0);
  assert(granted > 5 * SEEDS, `only ${granted} locks granted`);
});

for (const [flaw, makeStore] of Object.entries(flaws)) {
  Deno.test(`simulate() notices ${flaw}`, () => assertNoticed({ makeStore }, () => true, NOTICED_BY[flaw]));
}

for (const [flaw, makeHandoff] of Object.entries(handoffFlaws)) {
  Deno.test(`simulate() notices ${flaw}`, () => {
    return assertNoticed({ makeHandoff }, (seed) => ["runs", "cohorts"].includes(themeOf(seed)));
  });
}

Deno.test("simulate() does the same again for the same seed", async () => {
  let lines = 0;
  for (let seed = 1; seed <= 20; seed++) {
    const log = await logOf(seed);
    assertEquals(await logOf(seed), log);
    lines += log.length;
  }
  assert(lines > 1_000, `only ${lines} lines`);
});

Deno.test("untested() misses locks, and with many seeds transitions", () => {
  assertEquals([untested(1, 1, ["a"]), untested(2_000, 1, [])], [[], []]);
  assertEquals(untested(1, 0, []), ["No lock was granted: nothing was tested"]);
  assertEquals(untested(2_000, 1, ["a", "b"]), ["Never taken, and so not tested: a; b"]);
});

Deno.test("parseOptions() refuses what is no number of seeds", () => {
  const none = { help: false, world: "redlock", keepGoing: false, verbose: false, coverage: false } as const;
  assertEquals(parseOptions(["--seeds", "7", "--from", "0"]), { ...none, seeds: 7, from: 0 });
  assertEquals(parseOptions(["--world", "cas"]).world, "cas");
  const wrong = [["--seeds", "0"], ["--seeds", "many"], ["--from", "-1"], ["--from="], ["--sedes", "3"], ["3"], [
    "--world",
    "x",
  ]];
  for (const args of wrong) {
    let refused = false;
    try {
      parseOptions(args);
    } catch {
      refused = true;
    }
    assert(refused, args.join(" "));
  }
});

/** Asserts that a flaw is noticed in the first runs that are worth it, all of which are among those of a change. */
async function assertNoticed(flaw: SimulationOptions, suits: (seed: number) => boolean, by = /./): Promise<void> {
  const seeds = Array.from({ length: SEEDS }, (_, i) => i + 1).filter(suits).slice(0, NOTICED_WITHIN);
  for (const seed of seeds) if ((await simulate(seed, flaw)).violations.some((what) => by.test(what))) return;
  throw new Error(`not noticed in ${seeds.length} runs`);
}

async function logOf(seed: number): Promise<string[]> {
  const lines: string[] = [];
  await simulate(seed, { log: (line) => lines.push(line) });
  return lines;
}
