import { parseArgs } from "node:util";
import { permissionsOf } from "../../examples/store_url.ts";

/** What `--help` prints. */
export const HELP = `Shows in about 10 seconds what Holdfast does, with real processes.

Usage: deno task demo [STORE] [options]

  STORE           the URL of a store to keep the lock in, for example
                  redis://127.0.0.1:6379; an SQLite file of its own by default.
                  The name of the lock is a fresh one. On Redis its last fence
                  expires after 7 days, its other keys within 15 s; in
                  PostgreSQL and MySQL its row stays
  --sections N    how often each process raises the counter, 1 to 10000 (default 150)
  --help          this text

Exit status: 0 if everything held, 1 if not, 2 for a bad argument; 130 after Ctrl-C.`;

/** The arguments of the command line. */
export interface Options {
  readonly help: boolean;
  /** The URL of the store; `undefined`: an SQLite file of its own. */
  readonly store: string | undefined;
  readonly sections: number;
}

/** Parses the command line; throws an error that says what is wrong with it. */
export function parse(args: readonly string[]): Options {
  const { values, positionals: [store, ...others] } = parseArgs({
    // Users of npm put "--" before the arguments of a task.
    args: args[0] === "--" ? args.slice(1) : [...args],
    options: {
      help: { type: "boolean", short: "h", default: false },
      sections: { type: "string", default: "150" },
    },
    allowPositionals: true,
  });
  if (store !== undefined) permissionsOf(store);
  if (others.length > 0) throw new TypeError(`there is one store: got '${others.join(" ")}' as well`);
  const sections = Number(values.sections);
  if (!Number.isInteger(sections) || sections < 1 || sections > 10_000) {
    throw new RangeError(`--sections must be a whole number from 1 to 10000: got '${values.sections}'`);
  }
  return { help: values.help, store, sections };
}
