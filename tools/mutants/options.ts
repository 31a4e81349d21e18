import { choices, flag, list, type OptionsOf, path, program, whole } from "../../tests/support/command_line.ts";
import { TARGETS } from "./targets.ts";

/** The names of all targets. */
const NAMES = TARGETS.map(({ name }) => name);

/** `deno task mutants`. */
export const PROGRAM = program({
  about:
    `Changes one place of the source at a time, and runs the tests that should notice: a mutant that no test fails on
    shows what no test checks.`,
  usage: "deno task mutants [options]",
  options: {
    files: list("PART", "only source files whose paths contain this; several with commas, or given again"),
    target: choices("NAME", `only this target; several with commas, or given again: ${NAMES.join(", ")}`, NAMES),
    sample: whole("N", "only so many mutants of each target, drawn at random (default: all)", { least: 1 }),
    seed: whole("S", "what the sample is drawn from", { least: 0, default: 1 }),
    jobs: whole("N", "how many are tried at a time", { least: 1, default: navigator.hardwareConcurrency }),
    pinned: flag("only the faults that must always be noticed, see tools/mutants/pinned.ts; fails if one is not"),
    list: flag("name the mutants, and try none"),
    fresh: flag("try again what was tried before on the same sources and tests"),
    json: path("FILE", "write the results there as well"),
  },
  notes:
    `tools/mutants/targets.ts has the files and the tests of the targets. A run that was interrupted goes on where it
    was. Everything happens in temporary copies of the repository.

    Exit status: 0, 1 when a pinned fault was not noticed or there are no tests to notice anything, 2 for a wrong command
    line or no mutant, 130 when interrupted.`,
});

/** What the command line asks for. */
export type Options = OptionsOf<typeof PROGRAM>;
