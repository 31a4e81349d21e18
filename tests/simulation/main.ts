/**
 * The simulator, `deno task sim`: the shipped Redlock, Redis and lease code in a world where time, messages and mishaps
 * are drawn from a seed.
 *
 * @module
 */
import { INTERRUPTED, readOptions } from "../support/command_line.ts";
import { type Options, parseOptions, usage } from "./options.ts";
import { simulate } from "./simulate.ts";
import { Transitions } from "./transitions.ts";

/** How many lines before the violation are shown of the log of a run that failed. */
const SHOWN = 120;

/** How often progress is shown, in milliseconds: on a terminal, and elsewhere. */
const PROGRESS = { terminal: 500, log: 30_000 } as const;

/** With so many seeds or more every transition has to be taken. */
const ENOUGH = 2_000;

async function main(args: string[]): Promise<number> {
  const options = readOptions(() => parseOptions(args), () => usage());
  if (typeof options === "number") return options;
  return await run(options);
}

async function run({ seeds, from, verbose, coverage }: Options): Promise<number> {
  let unhandled: unknown;
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    unhandled = event.reason;
  });
  let interrupted = false;
  const interrupt = () => void (interrupted = true);
  Deno.addSignalListener("SIGINT", interrupt);
  const started = performance.now();
  let shown = started;
  let granted = 0;
  const transitions = new Transitions();
  const interval = Deno.stderr.isTerminal() ? PROGRESS.terminal : PROGRESS.log;
  for (let seed = from; seed < from + seeds; seed++) {
    const outcome = await simulate(seed, { log: verbose ? console.log : undefined });
    const violations = [
      ...outcome.violations,
      ...(unhandled === undefined ? [] : [`unhandled rejection: ${unhandled}`]),
    ];
    granted += outcome.granted;
    transitions.add(outcome.transitions);
    if (violations.length > 0) {
      await report(seed, violations, verbose);
      return 1;
    }
    if (interrupted) {
      progress("");
      console.log(`Interrupted after seed ${seed}: ${granted} locks granted, nothing wrong so far`);
      return INTERRUPTED;
    }
    if (performance.now() - shown > interval) {
      shown = performance.now();
      progress(`seed ${seed} of ${from} to ${from + seeds - 1}, ${granted} locks`);
    }
  }
  Deno.removeSignalListener("SIGINT", interrupt);
  progress("");
  if (coverage) console.log(`How often each transition was taken:\n${transitions}`);
  const seconds = (performance.now() - started) / 1_000;
  console.log(`${seeds} seeds from ${from}: ${granted} locks granted, nothing wrong, in ${seconds.toFixed(1)} s`);
  const gaps = untested(seeds, granted, transitions.missing);
  for (const gap of gaps) console.log(gap);
  return gaps.length === 0 ? 0 : 1;
}

/** Returns what so many seeds, with so many locks granted, have not tested. */
export function untested(seeds: number, granted: number, missing: readonly string[]): string[] {
  if (granted === 0) return ["No lock was granted: nothing was tested"];
  return seeds < ENOUGH || missing.length === 0 ? [] : [`Never taken, and so not tested: ${missing.join("; ")}`];
}

/** Shows what led to the violations. */
async function report(seed: number, violations: readonly string[], logged: boolean): Promise<void> {
  progress("");
  if (!logged) {
    const lines: string[] = [];
    await simulate(seed, { log: (line) => lines.push(line) });
    if (lines.length > SHOWN + 1) lines.splice(1, lines.length - SHOWN - 1, "            … (all of it with --verbose)");
    console.log(lines.join("\n"));
  }
  console.log(`\nSeed ${seed} fails:\n${violations.map((violation) => `  ${violation}`).join("\n")}`);
  console.log(`Again: deno task sim --seeds 1 --from ${seed} --verbose`);
}

/** Shows one line: on a terminal one that changes. */
function progress(text: string): void {
  if (Deno.stderr.isTerminal()) Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[K${text}`));
  else if (text !== "") console.error(text);
}

if (import.meta.main) Deno.exit(await main(Deno.args));
