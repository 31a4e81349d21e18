/**
 * The simulator, `deno task sim`: the shipped code of locks and stores in worlds where time, messages and mishaps are
 * drawn from a seed.
 *
 * @module
 */
import { INTERRUPTED, readOptions } from "../support/command_line.ts";
import { CHOSEN } from "./cas/seeds.ts";
import type { Branches } from "./kernel/branches.ts";
import { attended, logOf, type Play, reportOf } from "./kernel/runs.ts";
import type { Taken } from "./kernel/taken.ts";
import { type Options, PROGRAM, worldOptions } from "./options.ts";
import { WORLDS } from "./worlds.ts";

/** How often progress is shown, in milliseconds: on a terminal, and elsewhere. */
const PROGRESS = { terminal: 500, log: 30_000 } as const;

/** With so many seeds or more every transition has to be taken, and every branch that is known to be within reach. */
const ENOUGH = 2_000;

async function main(args: string[]): Promise<number> {
  const options = readOptions(PROGRAM, args);
  if (typeof options === "number") return options;
  // Loaded here alone: it brings a compiler along.
  const branches = options.explore ? new (await import("./kernel/branches.ts")).Branches() : undefined;
  return await playAll(options, await WORLDS[options.world].load(branches, options), branches);
}

async function playAll(options: Options, play: Play, branches: Branches | undefined): Promise<number> {
  const { from, verbose, keepGoing } = options;
  const all = options.chosen ? CHOSEN : Array.from({ length: options.seeds }, (_, i) => from + i);
  let interrupted = false;
  const interrupt = () => void (interrupted = true);
  Deno.addSignalListener("SIGINT", interrupt);
  const started = performance.now();
  let shown = started;
  let granted = 0;
  let done = 0;
  const failed: { readonly seed: number; readonly what: string }[] = [];
  let taken: Taken<string> | undefined;
  const reaching: number[] = [];
  const interval = Deno.stderr.isTerminal() ? PROGRESS.terminal : PROGRESS.log;
  for (const seed of all) {
    if (interrupted || failed.length > 0 && !keepGoing) break;
    const reached = branches?.reached;
    const outcome = await attended(play, seed, verbose ? console.log : undefined);
    if (branches?.reached !== reached) reaching.push(seed);
    granted += outcome.granted;
    if (outcome.transitions !== undefined) taken?.add(outcome.transitions);
    taken ??= outcome.transitions;
    const [first] = outcome.violations;
    if (first !== undefined) {
      // Without names and numbers.
      failed.push({ seed, what: first.replace(/: .*/s, "").replaceAll(/\d+(\.\d+)?/g, "…") });
      progress("");
      console.log(reportOf(seed, outcome.violations, verbose ? [] : await logOf(play, seed), worldOptions(options)));
    }
    if (performance.now() - shown > interval) {
      shown = performance.now();
      progress(`seed ${seed}, ${done} of ${all.length}, ${granted} locks, ${failed.length} seeds failed`);
    }
    done++;
  }
  Deno.removeSignalListener("SIGINT", interrupt);
  progress("");
  if (options.coverage) console.log(`How often each transition was taken:\n${taken}`);
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  const wrong = failed.length === 0
    ? "nothing wrong"
    : `${failed.length} failed: ${failed.map(({ seed }) => seed).join(", ")}`;
  const unexpected = branches?.unexpected(WORLDS[options.world].untaken) ?? [];
  if (branches !== undefined) {
    console.log(`Taken: ${branches}`);
    for (const line of unexpected) console.log(line);
    console.log(`${reaching.length} seeds newly reach something: ${reaching.join(", ")}`);
  }
  if (interrupted && done < all.length) {
    console.log(`Interrupted after seed ${all[done - 1] ?? from - 1}: ${granted} locks granted, ${wrong} so far`);
    return INTERRUPTED;
  }
  console.log(
    `${done} ${
      options.chosen ? "chosen seeds" : `seeds from ${from}`
    }: ${granted} locks granted, ${wrong}, in ${seconds} s`,
  );
  for (const [what, seeds] of keepGoing ? Map.groupBy(failed, ({ what }) => what) : []) {
    console.log(`  ${what}: ${seeds.length} seeds, ${seeds.map(({ seed }) => seed).join(" ")}`);
  }
  const never = unexpected.filter((line) => line.startsWith("Never taken: ")).length;
  const gaps = untested(options.chosen ? ENOUGH : done, granted, taken?.missing ?? [], never);
  for (const gap of gaps) console.log(gap);
  return gaps.length === 0 && failed.length === 0 ? 0 : 1;
}

/** Returns what so many seeds, with so many locks granted, have not tested: transitions, and so many branches. */
export function untested(seeds: number, granted: number, missing: readonly string[], branches = 0): string[] {
  if (granted === 0) return ["No lock was granted: nothing was tested"];
  if (seeds < ENOUGH) return [];
  return [
    ...missing.length === 0 ? [] : [`Never taken, and so not tested: ${missing.join("; ")}`],
    ...branches === 0 ? [] : [`${branches} branches are named above: each needs a world, or a line in untaken.ts`],
  ];
}

/** Shows one line: on a terminal one that changes. */
function progress(text: string): void {
  if (Deno.stderr.isTerminal()) Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[K${text}`));
  else if (text !== "") console.error(text);
}

if (import.meta.main) Deno.exit(await main(Deno.args));
