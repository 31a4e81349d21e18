// Deno only: it runs in a simulated world, of which the runtime is no part.
import { assert, assertEquals } from "@std/assert";
import { FLAWS } from "./flaws.ts";
import { parseOptions } from "./options.ts";
import { play, type PlayOptions } from "./play.ts";
import { HANDOFFS } from "./scenario.ts";

/** How many worlds there are on every change, for each way to hand on. */
const SEEDS = 500;

/** Within how many worlds a flaw must have been noticed. */
const NOTICED_WITHIN = 500;

for (const handoff of HANDOFFS) {
  Deno.test(`a lock is handed on in ${SEEDS} random worlds, handoff: ${handoff}`, async () => {
    let granted = 0;
    for (let seed = 1; seed <= SEEDS; seed++) granted += await playWell(seed, { handoff });
    assert(granted > 5 * SEEDS, `only ${granted} locks granted`);
  });
}

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

Deno.test("parseOptions() refuses what is no number of seeds, and no way to hand on", () => {
  assertEquals(parseOptions(["--seeds", "7", "--handoff", "keep"]).handoff, "keep");
  for (const args of [["--seeds", "0"], ["--from", "-1"], ["--handoff", "all"], ["--theme", "dull"], ["3"]]) {
    let refused = false;
    try {
      parseOptions(args);
    } catch {
      refused = true;
    }
    assert(refused, args.join(" "));
  }
});

/** Plays a seed, and returns how many locks were granted. Throws, with the end of the log, if a rule is broken. */
async function playWell(seed: number, { handoff }: PlayOptions): Promise<number> {
  const { violations, granted } = await play(seed, { handoff });
  if (violations.length === 0) return granted;
  const log = await logOf(seed, handoff);
  const broken = violations.map(({ rule, what }) => `${rule}: ${what}`).join("\n");
  throw new Error(
    `${log[0]}\n${log.slice(1).slice(-60).join("\n")}\n${broken}\n` +
      `Again: deno task handoff --seeds 1 --from ${seed} --handoff ${handoff} --verbose`,
  );
}

async function logOf(seed: number, handoff: PlayOptions["handoff"]): Promise<string[]> {
  const lines: string[] = [];
  await play(seed, { handoff, log: (line) => lines.push(line) });
  return lines;
}
