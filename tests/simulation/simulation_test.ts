// Deno only: it runs in a simulated world, of which the runtime is no part.
import { assert, assertEquals, assertThrows } from "@std/assert";
import { parse } from "../support/command_line.ts";
import { DenoProcess } from "../support/deno_process.ts";
import { Branches } from "./branches.ts";
import { untested } from "./main.ts";
import { PROGRAM } from "./options.ts";
import { countedRedlock } from "./redlock.ts";
import { simulate } from "./simulate.ts";
import { seedsOf } from "../support/seeds.ts";

/** How many runs there are on every change. */
const SEEDS = seedsOf(2_000);

Deno.test("RedlockStore and the store on Redis keep their promises in simulated runs", async () => {
  // By the command that developers use, which also finds transitions that were never taken.
  await using simulator = new DenoProcess(import.meta.resolve("./main.ts"), "--seeds", `${SEEDS}`, "--coverage");
  const output = (await Array.fromAsync(simulator.lines)).join("\n");
  assert((await simulator.status).success, output);
  const granted = Number(/(\d+) locks granted, nothing wrong/.exec(output)?.[1] ?? 0);
  assert(granted > 5 * SEEDS, `only ${granted} locks granted`);
});

Deno.test("simulate() does the same again for the same seed", async () => {
  let lines = 0;
  for (let seed = 1; seed <= 20; seed++) {
    const log = await logOf(seed);
    assertEquals(await logOf(seed), log);
    lines += log.length;
  }
  assert(lines > 1_000, `only ${lines} lines`);
});

Deno.test("Branches counts what Redlock does, and leaves that as it is", async () => {
  const branches = new Branches();
  const redlock = await countedRedlock(branches);
  const [before, lines] = [branches.missing.length, [] as string[]];
  for (let seed = 1; seed <= 3; seed++) {
    lines.length = 0;
    await simulate(seed, { redlock, log: (line) => lines.push(line) });
    assertEquals(lines, await logOf(seed));
  }
  const { length } = branches.missing;
  assert(branches.reached > 100 && length > 0 && length < before, `${branches}`);
});

Deno.test("untested() misses locks, and with many seeds transitions", () => {
  assertEquals([untested(1, 1, ["a"]), untested(2_000, 1, [])], [[], []]);
  assertEquals(untested(1, 0, []), ["No lock was granted: nothing was tested"]);
  assertEquals(untested(2_000, 1, ["a", "b"]), ["Never taken, and so not tested: a; b"]);
});

Deno.test("deno task sim has chosen seeds of one world alone", () => {
  assertEquals(parse(PROGRAM, ["--world", "cas", "--chosen"])?.chosen, true);
  assertThrows(() => parse(PROGRAM, ["--chosen"]), Error, "--chosen is for --world cas: got --world redlock");
});

async function logOf(seed: number): Promise<string[]> {
  const lines: string[] = [];
  await simulate(seed, { log: (line) => lines.push(line) });
  return lines;
}
