import { parseArgs } from "node:util";
import { chosen } from "../support/command_line.ts";

/** What the command line asks for. */
export interface Options {
  readonly help: boolean;
  /** What to run, in its order. */
  readonly names: readonly string[];
}

/** Reads the command line; throws an `Error` that says what is wrong with it. */
export function parseOptions(args: string[], names: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { help: { type: "boolean", short: "h", default: false } },
  });
  return { help: values.help, names: positionals.length === 0 ? names : chosen("runtime", positionals, names) };
}

/** Returns what `--help` prints. */
export function usage(names: readonly string[]): string {
  return `Packs the package as for npm and runs its tests on the packed files, in other runtimes than Deno.

Usage: deno task test:runtimes [options] [name...]

  name      only these: ${names.join(", ")}
  --help    this text

The tests are those of "deno task test" that start nothing but Redis servers: of the core, of the stores in memory, in
SQLite, on Redis and on Redlock, and of the LockManager; the first line of every other test file says why it is not among
them. "types" compiles a program that uses every export, with each supported TypeScript.
The runtimes come from npm into the folder .runtimes, which takes 270 MB of downloads and 850 MB of disk the first time;
their versions are in tests/runtimes/versions.ts.
REDIS_SERVER names the server program (default: redis-server). The exit status is 1 when anything failed.`;
}
