/**
 * The model of handing on inside a process, `deno task handoff`: the shipped code in a world where time, messages and
 * mishaps are drawn from a seed, down to the microtask.
 *
 * @module
 */
import { INTERRUPTED, readOptions } from "../../support/command_line.ts";
import { type Options, PROGRAM } from "./options.ts";
import { play } from "./play.ts";
import type { Branches } from "../../simulation/branches.ts";
import { countedMechanism, type Mechanism } from "./stores.ts";
import { UNTAKEN } from "./untaken.ts";

/** How many lines before the violation are shown of the log of a run that failed. */
const SHOWN = 120;

/** With so many seeds or more every branch has to be taken that is known to be within reach. */
const ENOUGH = 2_000;

/** How many seeds are shown for each rule. */
const EXAMPLES = 8;

async function main(args: string[]): Promise<number> {
  const options = readOptions(PROGRAM, args);
  if (typeof options === "number") return options;
  return await run(options);
}

async function run(options: Options): Promise<number> {
  const { seeds, from, verbose, all, explore } = options;
  const explored = explore ? await exploring() : undefined;
  let interrupted = false;
  const interrupt = () => void (interrupted = true);
  Deno.addSignalListener("SIGINT", interrupt);
  const started = performance.now();
  let granted = 0;
  const broken = new Map<string, number[]>();
  for (let seed = from; seed < from + seeds && !interrupted; seed++) {
    const outcome = await play(seed, {
      ...options,
      mechanism: explored?.mechanism,
      log: verbose ? console.log : undefined,
    });
    granted += outcome.granted;
    const [first] = outcome.violations;
    if (first === undefined) continue;
    if (!all) return await report(seed, options);
    broken.set(first.rule, [...broken.get(first.rule) ?? [], seed]);
  }
  Deno.removeSignalListener("SIGINT", interrupt);
  const unexpected = explored?.branches.unexpected(UNTAKEN) ?? [];
  if (explored !== undefined) {
    console.log(`Taken: ${explored.branches}`);
    for (const line of unexpected) console.log(line);
  }
  if (interrupted) return INTERRUPTED;
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  console.log(
    `${seeds} seeds from ${from}: ${granted} locks granted, ${
      broken.size === 0 ? "nothing wrong, " : ""
    }in ${seconds} s`,
  );
  for (const [rule, failed] of [...broken].sort(([, a], [, b]) => b.length - a.length)) {
    console.log(`  ${rule}: ${failed.length} seeds, ${failed.slice(0, EXAMPLES).join(" ")}`);
  }
  const isGap = seeds >= ENOUGH && unexpected.some((line) => line.startsWith("Never taken: "));
  return broken.size > 0 || isGap ? 1 : 0;
}

/** Returns what hands locks on, and what counts the branches of that. */
async function exploring(): Promise<{ readonly branches: Branches; readonly mechanism: Mechanism }> {
  // Loaded here alone: it brings a compiler along.
  const { Branches } = await import("../../simulation/branches.ts");
  const branches = new Branches();
  return { branches, mechanism: await countedMechanism(branches) };
}

/** Shows what led to the violations. */
async function report(seed: number, { handoff, theme, verbose }: Options): Promise<number> {
  const lines: string[] = [];
  const { violations } = await play(seed, { handoff, theme, log: (line) => lines.push(line) });
  if (lines.length > SHOWN + 1) lines.splice(1, lines.length - SHOWN - 1, "      … (all of it with --verbose)");
  if (!verbose) console.log(lines.join("\n"));
  console.log(`\nSeed ${seed} fails:\n${violations.map(({ rule, what }) => `  ${rule}: ${what}`).join("\n")}`);
  const only = [["handoff", handoff], ["theme", theme]].map(([option, value]) => value && ` --${option} "${value}"`)
    .join("");
  console.log(`Again: deno task handoff --seeds 1 --from ${seed}${only} --verbose`);
  return 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
