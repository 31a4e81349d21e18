import { parseArgs } from "node:util";
import { chosen } from "../support/command_line.ts";

/** What the command line asks for. */
export interface Options {
  readonly help: boolean;
  /** Whether a test that fails is not run once more. */
  readonly once: boolean;
  /** What to run, in its order. */
  readonly names: readonly string[];
}

/** Reads the command line; throws an `Error` that says what is wrong with it. */
export function parseOptions(args: string[], names: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      help: { type: "boolean", short: "h", default: false },
      once: { type: "boolean", default: false },
    },
  });
  return { ...values, names: positionals.length === 0 ? names : chosen("runtime", positionals, names) };
}

/** Returns what `--help` prints. */
export function usage(names: readonly string[]): string {
  return `Packs the package as for npm and runs its tests on the packed files, in other runtimes than Deno.

Usage: deno task test:runtimes [options] [name...]

  name      only these: ${names.join(", ")}
  --once    run no test a second time
  --help    this text

The tests are those of "deno task test" that start nothing but Redis servers: of the core, of the stores in memory, in
SQLite, on Redis and on Redlock, and of the LockManager; the first line of every other test file says why it is not among
them. Then come the suite of stores over the other clients of Redis, each in one of the runtimes, and locks in PostgreSQL
and MariaDB, over each client that works there.
"objects" runs Durable Objects in workerd: the suite of stores, evictions and restarts, and the examples for Workers.
"types" compiles a program that uses every export, with each supported TypeScript.
The runtimes come from npm into the folder .runtimes, which takes 270 MB of downloads and 850 MB of disk the first time;
their versions are in tests/runtimes/versions.ts.
REDIS_SERVER names the server program (default: redis-server). The exit status is 1 when anything failed.
Up to two tests of a runtime that fail beside the others are run once more; the last line but one names those that pass
then as flaky. More than two of all are a failure.`;
}
