import { parseArgs } from "node:util";
import { oneOf, wholeNumber } from "../../support/command_line.ts";
import { type HandoffName, HANDOFFS, type Theme, THEMES } from "./scenario.ts";

/** What the command line asks for. */
export interface Options {
  readonly help: boolean;
  readonly seeds: number;
  readonly from: number;
  readonly handoff: HandoffName | undefined;
  readonly theme: Theme | undefined;
  readonly verbose: boolean;
  readonly all: boolean;
  /** Whether the branches are counted that the seeds take. */
  readonly explore: boolean;
}

/** Reads the command line; throws an `Error` that says what is wrong with it. */
export function parseOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    allowPositionals: false,
    options: {
      help: { type: "boolean", default: false },
      seeds: { type: "string", default: "500" },
      from: { type: "string", default: "1" },
      handoff: { type: "string" },
      theme: { type: "string" },
      verbose: { type: "boolean", default: false },
      all: { type: "boolean", default: false },
      explore: { type: "boolean", default: false },
    },
  });
  return {
    help: values.help,
    verbose: values.verbose,
    all: values.all,
    explore: values.explore,
    seeds: wholeNumber("--seeds", values.seeds, 1),
    from: wholeNumber("--from", values.from, 0),
    handoff: values.handoff === undefined ? undefined : oneOf("handoff", values.handoff, HANDOFFS),
    theme: values.theme === undefined ? undefined : oneOf("theme", values.theme, THEMES),
  };
}

/** Returns what `--help` prints. */
export function usage(): string {
  return `Hands a lock on inside three processes, with what happens at random microtasks and goes wrong, until a rule is broken.

Usage: deno task handoff [options]

  --seeds N      how many runs (default: 500)
  --from S       the seed of the first run (default: 1); a seed determines everything that happens in its run
  --handoff H    only this way to hand on: ${HANDOFFS.join(", ")} ("none": every handle asks for itself)
  --theme T      only this kind of world: ${THEMES.join(", ")}
  --verbose      log all that happens, to replay a seed that fails
  --all          go on after a failure, and count at the end which rules were broken, and by which seeds
  --explore      count the branches of the handoff that are taken, and name at the end those that no seed takes
  --help         this text

Ctrl-C ends it after the present seed.

Exit status: 0 when nothing was wrong, 1 when a rule was broken, 2 for a wrong command line, 130 after Ctrl-C.`;
}
