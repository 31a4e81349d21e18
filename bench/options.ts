import { parseArgs } from "node:util";
import { chosen } from "../tests/support/command_line.ts";

/** What the command line asks for. */
export interface Options {
  readonly help: boolean;
  readonly quick: boolean;
  readonly strict: boolean;
  /** Whether to measure on a loaded machine as well, without judging. */
  readonly force: boolean;
  /** The rows to run, in their order. */
  readonly rows: string[];
  /** Where the JSON goes. */
  readonly json: string | URL;
}

/** Reads the command line; throws an `Error` that says what is wrong with it. */
export function parseOptions(args: string[], rows: string[]): Options {
  const { values } = parseArgs({
    args,
    allowPositionals: false,
    options: {
      help: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      strict: { type: "boolean", default: false },
      force: { type: "boolean", default: false },
      only: { type: "string", multiple: true },
      json: { type: "string" },
    },
  });
  if (values.json === "") throw new Error("--json needs the path of a file");
  return {
    help: values.help,
    quick: values.quick,
    strict: values.strict,
    force: values.force,
    rows: chosen("row", values.only ?? rows, rows),
    json: values.json ?? new URL("results.json", import.meta.url),
  };
}

/** Returns what `--help` prints. */
export function usage(rows: string[]): string {
  return `Measures Holdfast against the least that a lock on Redis can be, on a server of its own.

Usage: deno task bench [options]

  --quick      a first impression, in a few minutes; without it the run takes half an hour
  --only ROW   only this row; may be given several times
               rows: ${rows.join(", ")}
  --json PATH  where the figures go, with quartiles and versions (default: results.json beside the benchmark)
  --strict     exit status 1 when a target is missed
  --force      measures although other processes use the machine; then no target is met or missed
  --help       this text

Exit status: 0 when it was measured, 1 when a target is missed with --strict or something fails, 2 for a wrong command
line, 3 when the machine is loaded, 130 when interrupted.

REDIS_SERVER names the server program (default: redis-server). The ratios are what counts: both sides are measured in
turns, on the same machine and the same server.`;
}
