/**
 * The simulator, `deno task sim`: the shipped Redlock and lease code in a world where time, messages and mishaps are
 * drawn from a seed.
 *
 * @module
 */
import { type Options, parseOptions, usage } from "./options.ts";
import { simulate } from "./simulate.ts";

/** The exit status for a wrong command line, as shells have it. */
const MISUSED = 2;

/** How much of the story of a run that failed is shown, in lines before the violation. */
const SHOWN = 120;

/** How often progress is shown, in milliseconds. */
const PROGRESS = 500;

async function main(args: string[]): Promise<number> {
  let options: Options;
  try {
    options = parseOptions(args);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nSee --help.`);
    return MISUSED;
  }
  if (options.help) {
    console.log(usage());
    return 0;
  }
  return await run(options) ? 0 : 1;
}

async function run({ seeds, from, verbose }: Options): Promise<boolean> {
  let unheard: unknown;
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    unheard = event.reason;
  });
  const started = performance.now();
  let shown = started;
  let granted = 0;
  for (let seed = from; seed < from + seeds; seed++) {
    const outcome = await simulate(seed, { tell: verbose ? console.log : undefined });
    const violations = [...outcome.violations, ...(unheard === undefined ? [] : [`unhandled rejection: ${unheard}`])];
    granted += outcome.granted;
    if (violations.length > 0) {
      await report(seed, violations, verbose);
      return false;
    }
    if (performance.now() - shown > PROGRESS) {
      shown = performance.now();
      progress(`${seed - from + 1} of ${seeds} seeds, ${granted} locks`);
    }
  }
  progress("");
  const seconds = (performance.now() - started) / 1_000;
  console.log(`${seeds} seeds from ${from}: ${granted} locks granted, nothing wrong, in ${seconds.toFixed(1)} s`);
  return true;
}

/** Shows what led to the violations. */
async function report(seed: number, violations: readonly string[], told: boolean): Promise<void> {
  progress("");
  if (!told) {
    const story: string[] = [];
    await simulate(seed, { tell: (line) => story.push(line) });
    if (story.length > SHOWN + 1) story.splice(1, story.length - SHOWN - 1, "            … (all of it with --verbose)");
    console.log(story.join("\n"));
  }
  console.log(`\nSeed ${seed} fails:\n${violations.map((violation) => `  ${violation}`).join("\n")}`);
  console.log(`Again: deno task sim --seeds 1 --from ${seed} --verbose`);
}

/** One line on a terminal, which changes; elsewhere nothing. */
function progress(text: string): void {
  if (Deno.stderr.isTerminal()) Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[K${text}`));
}

if (import.meta.main) Deno.exit(await main(Deno.args));
