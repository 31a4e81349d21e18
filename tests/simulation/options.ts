import { parseArgs } from "node:util";

/** What the command line asks for. */
export interface Options {
  readonly help: boolean;
  readonly seeds: number;
  readonly from: number;
  readonly verbose: boolean;
}

/** Reads the command line; throws an `Error` that says what is wrong with it. */
export function parseOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    allowPositionals: false,
    options: {
      help: { type: "boolean", default: false },
      seeds: { type: "string", default: "2000" },
      from: { type: "string", default: "1" },
      verbose: { type: "boolean", default: false },
    },
  });
  return {
    help: values.help,
    verbose: values.verbose,
    seeds: number("--seeds", values.seeds, 1),
    from: number("--from", values.from, 0),
  };
}

function number(option: string, text: string, least: number): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isSafeInteger(value) || value < least || value >= 2 ** 32) {
    throw new Error(`${option} must be a whole number from ${least} to less than 2^32: got "${text}"`);
  }
  return value;
}

/** What `--help` prints. */
export function usage(): string {
  return `Runs the lock on simulated nodes, over a simulated network, with clocks that drift, until something is wrong.

Usage: deno task sim [options]

  --seeds N   how many runs (default: 2000)
  --from S    the seed of the first run (default: 1); a seed determines everything that happens in its run
  --verbose   tell all that happens, to replay a seed that fails
  --help      this text

Exit status: 0 when nothing was wrong, 1 when an invariant was violated, 2 for a wrong command line.`;
}
