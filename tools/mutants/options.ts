import { parseArgs } from "node:util";
import { wholeNumber } from "../../tests/support/command_line.ts";
import { TARGETS } from "./targets.ts";

/** The names of all targets. */
const NAMES = TARGETS.map(({ name }) => name).join(", ");

/** What the command line asks for. */
export interface Options {
  readonly help: boolean;
  readonly pinned: boolean;
  readonly list: boolean;
  readonly fresh: boolean;
  /** Parts of paths; all files when there are none. */
  readonly files: readonly string[];
  /** The names of targets; all when there are none. */
  readonly targets: readonly string[];
  /** How many mutants of each target are tried; all when left out. */
  readonly sample: number | undefined;
  readonly seed: number;
  readonly jobs: number;
  /** Where the results are written as JSON. */
  readonly json: string | undefined;
}

/** Reads the command line; throws an `Error` that says what is wrong with it. */
export function parseOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    allowPositionals: false,
    options: {
      help: { type: "boolean", default: false },
      pinned: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      fresh: { type: "boolean", default: false },
      files: { type: "string", multiple: true, default: [] },
      target: { type: "string", multiple: true, default: [] },
      sample: { type: "string" },
      seed: { type: "string", default: "1" },
      jobs: { type: "string", default: String(navigator.hardwareConcurrency) },
      json: { type: "string" },
    },
  });
  const { sample } = values;
  const targets = parts(values.target);
  const unknown = targets.find((name) => TARGETS.every((target) => target.name !== name));
  if (unknown !== undefined) throw new Error(`--target ${unknown} is none of ${NAMES}`);
  return {
    ...values,
    files: parts(values.files),
    targets,
    sample: sample === undefined ? undefined : wholeNumber("--sample", sample, 1),
    seed: wholeNumber("--seed", values.seed, 0),
    jobs: wholeNumber("--jobs", values.jobs, 1),
    json: values.json,
  };
}

function parts(lists: readonly string[]): string[] {
  return lists.flatMap((list) => list.split(",")).filter((part) => part !== "");
}

/** Returns what `--help` prints. */
export function usage(): string {
  return `Changes one place of the source at a time, and runs the tests that should notice: a mutant that no test fails on
shows what no test checks.

Usage: deno task mutants [options]

  --files PART   only source files whose paths contain this; several with commas, or given again
  --target NAME  only this target; several with commas, or given again
  --sample N     only so many mutants of each target, drawn at random (default: all)
  --seed S       what the sample is drawn from (default: 1)
  --jobs N       how many are tried at a time (default: the number of cores)
  --pinned       only the faults that must always be noticed, see tools/mutants/pinned.ts; fails if one is not
  --list         name the mutants, and try none
  --fresh        try again what was tried before on the same sources and tests
  --json FILE    write the results there as well
  --help         this text

Targets: ${NAMES}; see tools/mutants/targets.ts for their files and tests.
A run that was interrupted goes on where it was. Everything happens in temporary copies of the repository.

Exit status: 0, 1 when a pinned fault was not noticed or there are no tests to notice anything, 2 for a wrong command line
or no mutant, 130 when interrupted.`;
}
