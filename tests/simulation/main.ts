/**
 * The simulator, `deno task sim`: the shipped code of locks and stores in a world where time, messages and mishaps are
 * drawn from a seed.
 *
 * @module
 */
import { INTERRUPTED, readOptions } from "../support/command_line.ts";
import { countedEngine } from "./cas/engine.ts";
import { CHOSEN } from "./cas/seeds.ts";
import { simulate as simulateCas } from "./cas/simulate.ts";
import { Transitions as CasTransitions } from "./cas/transitions.ts";
import { type Options, PROGRAM, type WorldName } from "./options.ts";
import { countedRedlock } from "./redlock.ts";
import { simulate } from "./simulate.ts";
import type { Branches, Untaken } from "./branches.ts";
import type { Taken } from "./taken.ts";
import { Transitions } from "./transitions.ts";
import { UNTAKEN as UNTAKEN_OF_REDLOCK } from "./untaken.ts";
import { UNTAKEN as UNTAKEN_OF_ENGINE } from "./cas/untaken.ts";

/** How many lines before the violation are shown of the log of a run that failed. */
const SHOWN = 120;

/** How often progress is shown, in milliseconds: on a terminal, and elsewhere. */
const PROGRESS = { terminal: 500, log: 30_000 } as const;

/** With so many seeds or more every transition has to be taken, and every branch that is known to be within reach. */
const ENOUGH = 2_000;

/** The branches that no seed takes, by the world. */
const UNTAKEN: Readonly<Record<WorldName, Untaken>> = { redlock: UNTAKEN_OF_REDLOCK, cas: UNTAKEN_OF_ENGINE };

/** Gets the log of a run, line by line. */
type Log = (line: string) => void;

/** How a run ended. */
interface RunOutcome {
  readonly violations: readonly string[];
  readonly granted: number;
}

/** Runs the seeds of one world, and counts what was done in them. */
interface Runs {
  /** Counts the branches that are taken; `undefined`: nothing does. */
  readonly branches?: Branches | undefined;
  readonly run: (seed: number, log?: Log) => Promise<RunOutcome>;
  readonly transitions: Pick<Taken<string>, "missing" | "toString">;
}

async function main(args: string[]): Promise<number> {
  const options = readOptions(PROGRAM, args);
  if (typeof options === "number") return options;
  return await runAll(options, options.explore ? await exploring(options.world) : runsOf(options.world));
}

/** Returns what runs a world; each of its seeds counts once. */
function runsOf(world: WorldName): Runs {
  if (world === "redlock") return counted(simulate, new Transitions());
  return counted(simulateCas, new CasTransitions());
}

/** Returns what runs a world, and counts the branches of Redlock or of the engine that its seeds take. */
async function exploring(world: WorldName): Promise<Runs> {
  // Loaded here alone: it brings a compiler along.
  const { Branches } = await import("./branches.ts");
  const branches = new Branches();
  if (world === "redlock") {
    const redlock = await countedRedlock(branches);
    return { ...counted((seed, options) => simulate(seed, { ...options, redlock }), new Transitions()), branches };
  }
  const engine = await countedEngine(branches);
  return { ...counted((seed, options) => simulateCas(seed, { ...options, engine }), new CasTransitions()), branches };
}

function counted<T extends string>(
  simulate: (seed: number, options: { readonly log?: Log | undefined }) => Promise<
    RunOutcome & { readonly transitions: Taken<T> }
  >,
  transitions: Taken<T>,
): Runs {
  const run = async (seed: number, log?: Log) => {
    const outcome = await simulate(seed, { log });
    transitions.add(outcome.transitions);
    return outcome;
  };
  return { run, transitions };
}

async function runAll(options: Options, { run, transitions, branches }: Runs): Promise<number> {
  const { from, verbose, keepGoing } = options;
  const all = options.chosen ? CHOSEN : Array.from({ length: options.seeds }, (_, i) => from + i);
  const unhandled: unknown[] = [];
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    unhandled.push(event.reason);
  });
  let interrupted = false;
  const interrupt = () => void (interrupted = true);
  Deno.addSignalListener("SIGINT", interrupt);
  const started = performance.now();
  let shown = started;
  let granted = 0;
  let done = 0;
  const failed: number[] = [];
  const reaching: number[] = [];
  const interval = Deno.stderr.isTerminal() ? PROGRESS.terminal : PROGRESS.log;
  for (const seed of all) {
    if (interrupted || failed.length > 0 && !keepGoing) break;
    const reached = branches?.reached;
    const outcome = await run(seed, verbose ? console.log : undefined);
    if (branches?.reached !== reached) reaching.push(seed);
    const violations = [...outcome.violations, ...unhandled.splice(0).map((why) => `unhandled rejection: ${why}`)];
    granted += outcome.granted;
    if (violations.length > 0) {
      failed.push(seed);
      await report(seed, violations, options);
    }
    if (performance.now() - shown > interval) {
      shown = performance.now();
      progress(`seed ${seed}, ${done} of ${all.length}, ${granted} locks, ${failed.length} seeds failed`);
    }
    done++;
  }
  Deno.removeSignalListener("SIGINT", interrupt);
  progress("");
  if (options.coverage) console.log(`How often each transition was taken:\n${transitions}`);
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  const wrong = failed.length === 0 ? "nothing wrong" : `${failed.length} failed: ${failed.join(", ")}`;
  const unexpected = branches?.unexpected(UNTAKEN[options.world]) ?? [];
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
  const never = unexpected.filter((line) => line.startsWith("Never taken: ")).length;
  const gaps = untested(options.chosen ? ENOUGH : done, granted, transitions.missing, never);
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

/** Shows what led to the violations. */
async function report(seed: number, violations: readonly string[], { world, verbose }: Options): Promise<void> {
  progress("");
  if (!verbose) {
    const lines: string[] = [];
    await runsOf(world).run(seed, (line) => lines.push(line));
    if (lines.length > SHOWN + 1) lines.splice(1, lines.length - SHOWN - 1, "            … (all of it with --verbose)");
    console.log(lines.join("\n"));
  }
  console.log(`\nSeed ${seed} fails:\n${violations.map((violation) => `  ${violation}`).join("\n")}`);
  console.log(`Again: deno task sim --world ${world} --seeds 1 --from ${seed} --verbose`);
}

/** Shows one line: on a terminal one that changes. */
function progress(text: string): void {
  if (Deno.stderr.isTerminal()) Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[K${text}`));
  else if (text !== "") console.error(text);
}

if (import.meta.main) Deno.exit(await main(Deno.args));
