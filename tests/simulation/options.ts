import { choice, flag, type OptionsOf, program, whole } from "../support/command_line.ts";

/** What can be simulated. */
export type WorldName = "redlock" | "cas";

/** `deno task sim`. */
export const PROGRAM = program({
  about:
    `Runs the lock in a simulated world, with clocks that drift and messages that are lost, until something is wrong.
    One world is Redlock's: a quorum of stores in memory, or of servers that run the scripts for Redis, or one such
    server, and processes that hand locks on inside, as acquire() does, and as cohorts. The other one is that of the
    engine cas(): a server that keeps documents, and compares and sets them.`,
  usage: "deno task sim [options]",
  options: {
    world: choice<WorldName, WorldName>("W", "redlock or cas", ["redlock", "cas"], "redlock"),
    seeds: whole("N", "how many runs", { least: 1, default: 2_000 }),
    from: whole("S", "the seed of the first run, which determines everything in it", { least: 0, default: 1 }),
    keepGoing: flag("after a seed that fails, run the others as well, and name those that failed at the end"),
    verbose: flag("log all that happens, to replay a seed that fails"),
    coverage: flag("show how often each transition of the protocol was taken"),
    explore: flag(`count the branches of Redlock, or of the engine cas(), that are taken: name the seeds that newly
      reach something, of the engine to be kept in tests/simulation/cas/seeds.ts, and at the end the branches that no
      seed takes`),
    chosen: flag("run the seeds that are kept there, and no others"),
  },
  notes: `With 2,000 seeds or more, or --chosen, every transition must be taken.
    Ctrl-C ends it after the present seed.

    Exit status: 0 when nothing was wrong, 1 when an invariant was violated, no lock was granted or a transition was
    never taken, 2 for a wrong command line, 130 after Ctrl-C.`,
  check: ({ chosen, world }) => {
    if (chosen && world !== "cas") throw new Error(`--chosen is for --world cas: got --world ${world}`);
  },
});

/** What the command line asks for. */
export type Options = OptionsOf<typeof PROGRAM>;
