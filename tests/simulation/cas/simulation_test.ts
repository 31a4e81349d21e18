// Deno only: it runs in a simulated world, of which the runtime is no part.
import { assert, assertEquals } from "@std/assert";
import { DenoProcess } from "../../support/deno_process.ts";
import { seedsOf } from "../../support/seeds.ts";
import { Branches } from "../branches.ts";
import { abandonAttempts, giveUpTheTurn, missTheTurn, tellWrongTime } from "./directed.ts";
import { countedEngine } from "./engine.ts";
import { CHOSEN } from "./seeds.ts";
import { simulate } from "./simulate.ts";

/** How many seeds there are on every change. */
const SEEDS = seedsOf(CHOSEN.length);

Deno.test("cas() keeps its promises in the simulated runs that reach most", async () => {
  // By the command that developers use, which also finds transitions that were never taken.
  const seeds = SEEDS < CHOSEN.length ? ["--seeds", `${SEEDS}`] : ["--chosen"];
  const args = ["--world", "cas", ...seeds, "--coverage"];
  await using simulator = new DenoProcess(import.meta.resolve("../main.ts"), ...args);
  const output = (await Array.fromAsync(simulator.lines)).join("\n");
  assert((await simulator.status).success, output);
  const granted = Number(/(\d+) locks granted, nothing wrong/.exec(output)?.[1] ?? 0);
  assert(granted > 10 * SEEDS, `only ${granted} locks granted`);
});

Deno.test("cas() leaves nothing behind of an attempt that is executed when it was abandoned", async () => {
  assertEquals(await abandonAttempts(), []);
});

Deno.test("cas() lets nobody sleep whose turn it is because another one has given up", async () => {
  assertEquals(await giveUpTheTurn(), []);
});

Deno.test("cas() grants nobody a lock by a wrong time while the longest lease lasts", async () => {
  assertEquals(await tellWrongTime(), []);
});

Deno.test("cas() gives all waiters of a process that missed its turn their places back", async () => {
  assertEquals(await missTheTurn(), []);
});

Deno.test("Branches counts what the engine does, and leaves that as it is", async () => {
  const branches = new Branches();
  const engine = await countedEngine(branches);
  const [before, lines] = [branches.missing.length, [] as string[]];
  await simulate(1, { engine, log: (line) => lines.push(line) });
  assertEquals(lines, await logOf(1));
  const { length } = branches.missing;
  assert(branches.reached > 100 && length > 0 && length < before, `${branches}`);
});

Deno.test("simulate() of cas() does the same again for the same seed", async () => {
  for (let seed = 1; seed <= 20; seed++) assertEquals(await logOf(seed), await logOf(seed));
});

async function logOf(seed: number): Promise<string[]> {
  const lines: string[] = [];
  await simulate(seed, { log: (line) => lines.push(line) });
  return lines;
}
