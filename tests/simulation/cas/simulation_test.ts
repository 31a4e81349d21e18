// Deno only: it runs in a simulated world, of which the runtime is no part.
import { assert, assertEquals } from "@std/assert";
import { DenoProcess } from "../../support/deno_process.ts";
import { abandonAttempts } from "./directed.ts";
import { type Flaw, flawed, FLAWS } from "./flaws.ts";
import { scenarioOf } from "./scenario.ts";
import { simulate } from "./simulate.ts";

/** How many runs there are on every change, and within how many a fault must be noticed. */
const SEEDS = 2_000;

Deno.test("cas() keeps its promises in 2,000 simulated runs", async () => {
  // By the command that developers use, which also finds transitions that were never taken.
  const args = ["--world", "cas", "--seeds", `${SEEDS}`, "--coverage"];
  await using simulator = new DenoProcess(import.meta.resolve("../main.ts"), ...args);
  const output = (await Array.fromAsync(simulator.lines)).join("\n");
  assert((await simulator.status).success, output);
  const granted = Number(/(\d+) locks granted, nothing wrong/.exec(output)?.[1] ?? 0);
  assert(granted > 10 * SEEDS, `only ${granted} locks granted`);
});

Deno.test("cas() leaves nothing behind of an attempt that is executed when it was abandoned", async () => {
  assertEquals(await abandonAttempts(), []);
});

for (const [name, flaw] of Object.entries(FLAWS)) {
  Deno.test(`simulate() of cas() notices ${name}`, () => assertNoticed(flaw));
}

Deno.test("simulate() of cas() does the same again for the same seed", async () => {
  for (let seed = 1; seed <= 20; seed++) assertEquals(await logOf(seed), await logOf(seed));
});

/** Asserts that a fault is noticed by what it must cause. */
async function assertNoticed(flaw: Flaw): Promise<void> {
  const options = await flawed(flaw);
  const isNoticed = (violations: readonly string[]) => violations.some((what) => flaw.causes.test(what));
  if (flaw.directed) return assert(isNoticed(await abandonAttempts(options)), "not noticed");
  for (let seed = 1; seed <= SEEDS; seed++) {
    if (flaw.in?.(scenarioOf(seed)) === false) continue;
    if (isNoticed((await simulate(seed, options)).violations)) return;
  }
  throw new Error(`not noticed in ${SEEDS} runs`);
}

async function logOf(seed: number): Promise<string[]> {
  const lines: string[] = [];
  await simulate(seed, { log: (line) => lines.push(line) });
  return lines;
}
