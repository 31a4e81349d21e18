import { parseArgs } from "node:util";
import { wholeNumber } from "../support/command_line.ts";

/** What the command line asks for. */
export interface Options {
  readonly help: boolean;
  readonly seeds: number;
  readonly from: number;
  readonly verbose: boolean;
  readonly coverage: boolean;
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
      coverage: { type: "boolean", default: false },
    },
  });
  return {
    help: values.help,
    verbose: values.verbose,
    coverage: values.coverage,
    seeds: wholeNumber("--seeds", values.seeds, 1),
    from: wholeNumber("--from", values.from, 0),
  };
}

/** Returns what `--help` prints. */
export function usage(): string {
  return `Runs the lock on simulated nodes, over a simulated network, with clocks that drift, until something is wrong: on a quorum
of stores in memory, on a quorum of servers that run the scripts for Redis, and on one such server. Processes hand locks on
inside, as acquire() does, and as cohorts.

Usage: deno task sim [options]

  --seeds N   how many runs (default: 2000)
  --from S    the seed of the first run (default: 1); a seed determines everything that happens in its run
  --verbose   log all that happens, to replay a seed that fails
  --coverage  show how often each transition of the protocol was taken
  --help      this text

With 2,000 seeds or more every transition must be taken.
Ctrl-C ends it after the present seed.

Exit status: 0 when nothing was wrong, 1 when an invariant was violated, no lock was granted or a transition was never
taken, 2 for a wrong command line, 130 after Ctrl-C.`;
}
