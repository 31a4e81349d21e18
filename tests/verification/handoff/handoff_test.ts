// Deno only: it runs in a simulated world, of which the runtime is no part.
import { assert, assertEquals } from "@std/assert";
import { Branches } from "../../simulation/branches.ts";
import { freshSeed } from "./fresh_seed.ts";
import { play, type PlayOptions } from "./play.ts";
import { type HandoffName, HANDOFFS } from "./scenario.ts";
import { countedMechanism } from "./stores.ts";
import { seedsOf } from "../../support/seeds.ts";

/** How many worlds there are on every change, for each way to hand on. */
const SEEDS = seedsOf(400);

/** Seeds that broke a rule once, by the way to hand on. */
const FOUND: readonly (readonly [handoff: HandoffName | undefined, seeds: readonly number[]])[] = [
  // A run whose grant was answered after its lease.
  ["default", [6367, 16832, 19927]],
  // An attempt while a lock that nobody wants waits to be given back.
  ["linger", [947, 1114]],
  // A waiter whose second sleep in the store began before the end of its first one.
  ["keep", [265, 447]],
  ["linger", [1804]],
  // A try that attempted twice while a lock that lingers was renewed for it.
  ["linger", [1378]],
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
    for (let seed = 1; seed <= SEEDS; seed++) granted += await playWell(seed, { handoff });
    assert(granted > 5 * SEEDS, `only ${granted} locks granted`);
  });
}

Deno.test("a lock is handed on in the worlds that broke a rule once", async () => {
  for (const [handoff, seeds] of FOUND) for (const seed of seeds) await playWell(seed, { handoff });
});

Deno.test("a lock is handed on in random worlds that no version before has had", async () => {
  const from = freshSeed(await Deno.readTextFile(new URL("../../../CHANGELOG.md", import.meta.url)));
  for (let seed = from; seed < from + FRESH; seed++) await playWell(seed, {});
});

Deno.test("freshSeed() moves with each change of a text, and not with its line ends", () => {
  assertEquals(freshSeed("## 1.2.0\r\n"), freshSeed("## 1.2.0\n"));
  const seeds = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((patch) => freshSeed(`## 1.2.${patch}`));
  for (const [i, seed] of seeds.entries()) {
    assert(Number.isSafeInteger(seed) && seed > SEEDS, `${seed}`);
    assert(seeds.every((other, j) => i === j || Math.abs(seed - other) >= FRESH), `${seeds}`);
  }
});

Deno.test("play() does the same again for the same seed", async () => {
  let lines = 0;
  for (let seed = 1; seed <= 20; seed++) {
    for (const handoff of HANDOFFS) {
      const log = await logOf(seed, handoff);
      assertEquals(await logOf(seed, handoff), log);
      lines += log.length;
    }
  }
  assert(lines > 1_000, `only ${lines} lines`);
});

Deno.test("Branches counts what hands locks on, and leaves that as it is", async () => {
  const branches = new Branches();
  const mechanism = await countedMechanism(branches);
  const before = branches.missing.length;
  for (let seed = 1; seed <= 10; seed++) {
    const lines: string[] = [];
    await play(seed, { handoff: "keep", mechanism, log: (line) => lines.push(line) });
    assertEquals(lines, await logOf(seed, "keep"));
  }
  const { length } = branches.missing;
  assert(branches.reached > 100 && length > 0 && length < before, `${branches}`);
});

/** Plays a seed, and returns how many locks were granted. Throws, with the end of the log, if a rule is broken. */
async function playWell(seed: number, { handoff }: PlayOptions): Promise<number> {
  const { violations, granted } = await play(seed, { handoff });
  if (violations.length === 0) return granted;
  const log = await logOf(seed, handoff);
  const broken = violations.map(({ rule, what }) => `${rule}: ${what}`).join("\n");
  throw new Error(
    `${log[0]}\n${log.slice(1).slice(-60).join("\n")}\n${broken}\n` +
      `Again: deno task handoff --seeds 1 --from ${seed}${
        handoff === undefined ? "" : ` --handoff ${handoff}`
      } --verbose`,
  );
}

async function logOf(seed: number, handoff: PlayOptions["handoff"]): Promise<string[]> {
  const lines: string[] = [];
  await play(seed, { handoff, log: (line) => lines.push(line) });
  return lines;
}
