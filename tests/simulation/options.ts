import { parseArgs } from "node:util";
import { oneOf, wholeNumber } from "../support/command_line.ts";

/** What can be simulated. */
export type WorldName = "redlock" | "cas";

/** What the command line asks for. */
export interface Options {
  readonly help: boolean;
  readonly world: WorldName;
  readonly seeds: number;
  readonly from: number;
  /** Whether other seeds follow one that fails. */
  readonly keepGoing: boolean;
  readonly verbose: boolean;
  readonly coverage: boolean;
  /** Whether seeds are looked for that reach what none before them has, and branches that none takes. */
  readonly explore: boolean;
  /** Whether the seeds are those that reach most. */
  readonly chosen: boolean;
}

/** Reads the command line; throws an `Error` that says what is wrong with it. */
export function parseOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    allowPositionals: false,
    options: {
      help: { type: "boolean", default: false },
      world: { type: "string", default: "redlock" },
      seeds: { type: "string", default: "2000" },
      from: { type: "string", default: "1" },
      "keep-going": { type: "boolean", default: false },
      verbose: { type: "boolean", default: false },
      coverage: { type: "boolean", default: false },
      explore: { type: "boolean", default: false },
      chosen: { type: "boolean", default: false },
    },
  });
  const world = oneOf<WorldName>("world", values.world, ["redlock", "cas"]);
  if (values.chosen && world !== "cas") throw new Error(`--chosen is for --world cas: got --world ${world}`);
  return {
    help: values.help,
    world,
    explore: values.explore,
    chosen: values.chosen,
    keepGoing: values["keep-going"],
    verbose: values.verbose,
    coverage: values.coverage,
    seeds: wholeNumber("--seeds", values.seeds, 1),
    from: wholeNumber("--from", values.from, 0),
  };
}

/** Returns what `--help` prints. */
export function usage(): string {
  return `Runs the lock in a simulated world, with clocks that drift and messages that are lost, until something is wrong. One
world is Redlock's: a quorum of stores in memory, or of servers that run the scripts for Redis, or one such server, and
processes that hand locks on inside, as acquire() does, and as cohorts. The other one is that of the engine cas(): a
server that keeps documents, and compares and sets them.

Usage: deno task sim [options]

  --world W     redlock (default) or cas
  --seeds N     how many runs (default: 2000)
  --from S      the seed of the first run (default: 1); a seed determines everything that happens in its run
  --keep-going  after a seed that fails, run the others as well, and name those that failed at the end
  --verbose     log all that happens, to replay a seed that fails
  --coverage    show how often each transition of the protocol was taken
  --explore     count the branches of Redlock, or of the engine cas(), that are taken: name the seeds that newly reach
                something, of the engine to be kept in tests/simulation/cas/seeds.ts, and at the end the branches that
                no seed takes
  --chosen      run the seeds that are kept there, and no others
  --help        this text

With 2,000 seeds or more, or --chosen, every transition must be taken.
Ctrl-C ends it after the present seed.

Exit status: 0 when nothing was wrong, 1 when an invariant was violated, no lock was granted or a transition was never
taken, 2 for a wrong command line, 130 after Ctrl-C.`;
}
