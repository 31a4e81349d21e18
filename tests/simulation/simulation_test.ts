// Deno only: it runs in a simulated world, of which the runtime is no part.
import { assert, assertEquals, assertThrows } from "@std/assert";
import { parse } from "../support/command_line.ts";
import { DenoProcess } from "../support/deno_process.ts";
import { seedsOf } from "../support/seeds.ts";
import { CHOSEN } from "./cas/seeds.ts";
import { HANDOFFS } from "./handoff/scenario.ts";
import { Branches } from "./kernel/branches.ts";
import { firstSeeds, logOf } from "./kernel/runs.ts";
import { untested } from "./main.ts";
import { PROGRAM } from "./options.ts";
import { WORLDS } from "./worlds.ts";

Deno.test("RedlockStore and the store on Redis keep their promises in simulated runs", async () => {
  const seeds = seedsOf(2_000);
  await assertNothingWrong(["--seeds", `${seeds}`], 5 * seeds);
});

Deno.test("cas() keeps its promises in the simulated runs that reach most", async () => {
  const seeds = seedsOf(CHOSEN.length);
  const which = seeds < CHOSEN.length ? ["--seeds", `${seeds}`] : ["--chosen"];
  await assertNothingWrong(["--world", "cas", ...which], 10 * seeds);
});

/** Simulates runs by the command that developers use, which also finds transitions that were never taken. */
async function assertNothingWrong(args: readonly string[], least: number): Promise<void> {
  await using simulator = new DenoProcess(import.meta.resolve("./main.ts"), ...args, "--coverage");
  const output = (await Array.fromAsync(simulator.lines)).join("\n");
  assert((await simulator.status).success, output);
  const granted = Number(/(\d+) locks granted, nothing wrong/.exec(output)?.[1] ?? 0);
  assert(granted > least, `only ${granted} locks granted`);
}

/** What is played twice: each world, and that of the handoff with each way to hand on. */
const TWICE = [
  { world: "redlock", handoff: undefined, seeds: firstSeeds(5) },
  // Short ones, with each disturbance that the first 20 have.
  { world: "cas", handoff: undefined, seeds: [1, 2, 5, 8, 13, 18] },
  { world: "timers", handoff: undefined, seeds: firstSeeds(20) },
  ...HANDOFFS.map((handoff) => ({ world: "handoff", handoff, seeds: firstSeeds(20) }) as const),
] as const;

for (const { world, handoff, seeds } of TWICE) {
  const how = handoff === undefined ? world : `${world}, ${handoff},`;
  Deno.test(`the world of ${how} does the same again, while its branches are counted`, async () => {
    const branches = new Branches();
    const counted = await WORLDS[world].load(branches, { handoff });
    const shipped = await WORLDS[world].load(undefined, { handoff });
    const all = branches.missing.length;
    let lines = 0;
    for (const seed of seeds) {
      const log = await logOf(shipped, seed);
      assertEquals(await logOf(counted, seed), log);
      lines += log.length;
    }
    assert(lines > 250, `only ${lines} lines`);
    // Nothing hands on there, or the rules are a model of their own.
    if (handoff === "none" || world === "timers") return;
    const { length } = branches.missing;
    assert(branches.reached > 100 && length > 0 && length < all, `${branches}`);
  });
}

Deno.test("untested() misses locks, and with many seeds transitions", () => {
  assertEquals([untested(1, 1, ["a"]), untested(2_000, 1, [])], [[], []]);
  assertEquals(untested(1, 0, []), ["No lock was granted: nothing was tested"]);
  assertEquals(untested(2_000, 1, ["a", "b"]), ["Never taken, and so not tested: a; b"]);
});

Deno.test("deno task sim has some options for some worlds alone", () => {
  assertEquals(parse(PROGRAM, ["--world", "cas", "--chosen"])?.chosen, true);
  assertThrows(() => parse(PROGRAM, ["--chosen"]), Error, "--chosen is for --world cas: got --world redlock");
  assertThrows(
    () => parse(PROGRAM, ["--world", "timers", "--coverage"]),
    Error,
    "--coverage is for --world redlock or",
  );
});
