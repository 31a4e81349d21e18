// Deno only: it runs in a simulated world, of which the runtime is no part.
import { assert, assertEquals } from "@std/assert";
import { attended, firstSeeds, logOf, reportOf } from "../kernel/runs.ts";
import { worldOptions } from "../options.ts";
import { freshSeed } from "./fresh_seed.ts";
import { play } from "./play.ts";
import { type HandoffName, HANDOFFS, type Theme } from "./scenario.ts";
import { seedsOf } from "../../support/seeds.ts";

/** How many worlds there are on every change, for each way to hand on. */
const SEEDS = seedsOf(400);

/** Seeds that broke a rule once, by the way to hand on, and the kind of world if that was chosen. */
const FOUND: readonly (readonly [handoff: HandoffName | undefined, seeds: readonly number[], theme?: Theme])[] = [
  // A run whose grant was answered after its lease.
  ["default", [6367, 16832, 19927]],
  // An attempt while a lock that nobody wants waits to be given back.
  ["linger", [947, 1114]],
  // A waiter whose second sleep in the store began before the end of its first one.
  ["keep", [265, 447]],
  ["linger", [1804]],
  // A try that attempted twice while a lock that lingers was renewed for it.
  ["linger", [1378]],
  // A place of a handle whose caller had given up, or had the lock and released it: an error of the judge.
  ["linger", [60525, 61557]],
  // A place of a handle that attempted twice, the second time after its lock was stolen.
  ["linger", [8300930], "faults"],
  // One that came after its process had stalled, past a waiter that the server took for dead: an error of the judge.
  ["linger", [8200083], "faults"],
  // One of two attempts of a handle that was executed after its release: an error of the judge.
  ["none", [21451, 61922]],
  ["default", [7167]],
  // A lock that was extended to less than a round trip; one that was left to its lease; a place that nobody knew of; a
  // run whose lease has ended, in one process.
  [undefined, [16074, 47, 3492, 9704286, 50225377]],
];

/** How many more there are, which change with the changelog. */
const FRESH = seedsOf(400);

for (const handoff of HANDOFFS) {
  Deno.test(`a lock is handed on in random worlds, handoff: ${handoff}`, async () => {
    let granted = 0;
    for (const seed of firstSeeds(SEEDS)) granted += await playWell(seed, handoff);
    assert(granted > 5 * SEEDS, `only ${granted} locks granted`);
  });
}

Deno.test("a lock is handed on in the worlds that broke a rule once", async () => {
  for (const [handoff, seeds, theme] of FOUND) for (const seed of seeds) await playWell(seed, handoff, theme);
});

Deno.test("a lock is handed on in random worlds that no version before has had", async () => {
  const from = freshSeed(await Deno.readTextFile(new URL("../../../CHANGELOG.md", import.meta.url)));
  for (let seed = from; seed < from + FRESH; seed++) await playWell(seed);
});

Deno.test("freshSeed() moves with each change of a text, and not with its line ends", () => {
  assertEquals(freshSeed("## 1.2.0\r\n"), freshSeed("## 1.2.0\n"));
  const seeds = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((patch) => freshSeed(`## 1.2.${patch}`));
  for (const [i, seed] of seeds.entries()) {
    assert(Number.isSafeInteger(seed) && seed > SEEDS, `${seed}`);
    assert(seeds.every((other, j) => i === j || Math.abs(seed - other) >= FRESH), `${seeds}`);
  }
});

/** Plays a seed, and returns how many locks were granted. Throws, with the end of the log, if a rule is broken. */
async function playWell(seed: number, handoff?: HandoffName, theme?: Theme): Promise<number> {
  const playWith = (seed: number, log?: (line: string) => void) => play(seed, { handoff, theme, log });
  const { violations, granted } = await attended(playWith, seed);
  if (violations.length === 0) return granted;
  const options = worldOptions({ world: "handoff", handoff, theme });
  throw new Error(reportOf(seed, violations, await logOf(playWith, seed), options));
}
