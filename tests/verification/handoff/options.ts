import { choice, flag, type OptionsOf, program, whole } from "../../support/command_line.ts";
import { HANDOFFS, THEMES } from "./scenario.ts";

/** `deno task handoff`. */
export const PROGRAM = program({
  about: `Hands a lock on inside three processes, with what happens at random microtasks and goes wrong, until a rule is
    broken.`,
  usage: "deno task handoff [options]",
  options: {
    seeds: whole("N", "how many runs", { least: 1, default: 500 }),
    from: whole("S", "the seed of the first run, which determines everything in it", { least: 0, default: 1 }),
    handoff: choice("H", `only ${HANDOFFS.join(", ")} ("none": every handle asks for itself)`, HANDOFFS),
    theme: choice("T", `only this kind of world: ${THEMES.join(", ")}`, THEMES),
    verbose: flag("log all that happens, to replay a seed that fails"),
    all: flag("go on after a failure, and count at the end which rules were broken, and by which seeds"),
    explore: flag("count the branches of the handoff that are taken, and name at the end those that no seed takes"),
  },
  notes: `Ctrl-C ends it after the present seed.

    Exit status: 0 when nothing was wrong, 1 when a rule was broken, 2 for a wrong command line, 130 after Ctrl-C.`,
});

/** What the command line asks for. */
export type Options = OptionsOf<typeof PROGRAM>;
