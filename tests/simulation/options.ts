import { choice, flag, type OptionsOf, program, whole } from "../support/command_line.ts";
import { HANDOFFS, THEMES } from "./handoff/scenario.ts";

const NAMES = ["redlock", "cas", "handoff", "timers"] as const;

/** What can be simulated: the worlds, in each of which a seed determines a run. */
export type WorldName = typeof NAMES[number];

/** The options that some worlds do not have, and those that have them. */
const ONLY: Readonly<Record<"chosen" | "coverage" | "explore" | "handoff" | "theme", readonly WorldName[]>> = {
  chosen: ["cas"],
  coverage: ["redlock", "cas"],
  explore: ["redlock", "cas", "handoff"],
  handoff: ["handoff"],
  theme: ["handoff"],
};

/** `deno task sim`. */
export const PROGRAM = program({
  about:
    `Runs the lock in a simulated world, with clocks that drift and messages that are lost, until something is wrong.
    One world is Redlock's: a quorum of stores in memory, or of servers that run the scripts for Redis, or one such
    server, and processes that hand locks on inside, as acquire() does, and as cohorts. Another one is that of the
    engine cas(): a server that keeps documents, and compares and sets them. In that of the handoff up to three
    processes hand a lock on inside, and what happens meets at random microtasks. That of the timers has the protocol
    by which a server without a clock ends leases.`,
  usage: "deno task sim [options]",
  options: {
    world: choice<WorldName, WorldName>("W", NAMES.join(", "), NAMES, "redlock"),
    seeds: whole("N", "how many runs", { least: 1, default: 2_000 }),
    from: whole("S", "the seed of the first run, which determines everything in it", { least: 0, default: 1 }),
    keepGoing: flag("after a seed that fails, run the others as well, and name those that failed at the end"),
    verbose: flag("log all that happens, to replay a seed that fails"),
    coverage: flag("show how often each transition of the protocol was taken"),
    explore: flag(`count the branches of Redlock, of the engine cas() or of the handoff that are taken: name the seeds
      that newly reach something, of the engine to be kept in tests/simulation/cas/seeds.ts, and at the end the
      branches that no seed takes`),
    chosen: flag("run the seeds that are kept there, and no others"),
    handoff: choice("H", `only ${HANDOFFS.join(", ")} ("none": every handle asks for itself)`, HANDOFFS),
    theme: choice("T", `only this kind of world of the handoff: ${THEMES.join(", ")}`, THEMES),
  },
  notes: `With 2,000 seeds or more, or --chosen, every transition must be taken.
    Ctrl-C ends it after the present seed.

    Exit status: 0 when nothing was wrong, 1 when an invariant was violated, no lock was granted or a transition was
    never taken, 2 for a wrong command line, 130 after Ctrl-C.`,
  check: (options) => {
    for (const [option, worlds] of Object.entries(ONLY)) {
      if (!options[option as keyof typeof ONLY] || worlds.includes(options.world)) continue;
      throw new Error(`--${option} is for --world ${worlds.join(" or ")}: got --world ${options.world}`);
    }
  },
});

/** What the command line asks for. */
export type Options = OptionsOf<typeof PROGRAM>;

/** Returns the options by which the world of a run is chosen. */
export function worldOptions({ world, handoff, theme }: Pick<Options, "world"> & Partial<Options>): string {
  return Object.entries({ world, handoff, theme }).flatMap(([option, value]) => {
    return value === undefined ? [] : [`--${option} ${/ /.test(value) ? `"${value}"` : value}`];
  }).join(" ");
}
