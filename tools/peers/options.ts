import { parseArgs } from "node:util";
import { chosen } from "../../tests/support/command_line.ts";

/** What the command line asks for. */
export interface Options {
  readonly help: boolean;
  readonly quick: boolean;
  /** The rows to run, in their order, and the libraries to measure. */
  readonly rows: string[];
  readonly peers: string[];
  /** Where the report goes: `.json`, `.md` and the names of the pictures are appended. */
  readonly output: string;
}

/** Reads the command line; throws an `Error` that says what is wrong with it. */
export function parseOptions(args: string[], rows: string[], peers: string[]): Options {
  const { values } = parseArgs({
    args,
    allowPositionals: false,
    options: {
      help: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      only: { type: "string", multiple: true },
      peer: { type: "string", multiple: true },
      output: { type: "string" },
    },
  });
  if (values.output === "") throw new Error("--output needs the beginning of a path");
  return {
    help: values.help,
    quick: values.quick,
    rows: chosen("row", values.only ?? rows, rows),
    peers: chosen("peer", values.peer ?? peers, peers),
    output: values.output ?? new URL("results", import.meta.url).pathname,
  };
}

/** Returns what `--help` prints. */
export function usage(rows: string[], peers: string[]): string {
  return `Measures Holdfast beside the other lock libraries of npm, each in processes of its own, in turns, on one server.

Usage: deno task bench:peers [options]

  --quick        a first impression, in about eight minutes; without it the run takes about an hour
  --only ROW     only this row; may be given several times
                 rows: ${rows.join(", ")}
  --peer NAME    only this library, beside the bare pair; may be given several times
                 names: ${peers.join(", ")}
  --output PATH  the beginning of the paths of the report, which is written as PATH.json, PATH.md,
                 PATH_longest_wait.svg and PATH_handoff.svg (default: results beside the benchmark)
  --help         this text

REDIS_SERVER names the server program (default: redis-server). The first run fetches the libraries from npm.`;
}
