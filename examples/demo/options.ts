import { parseArgs } from "node:util";

/** What `--help` prints. */
export const HELP = `Shows in about 10 seconds what Holdfast does, with real processes, on an SQLite file.

Usage: deno task demo [options]

  --redis URL     keep the lock on a Redis server, for example redis://127.0.0.1:6379.
                  The name of the lock is a fresh one. Its last fence expires after
                  7 days, its other keys within 15 s
  --sections N    how often each process raises the counter, 1 to 10000 (default 150)
  --help          this text

Exit status: 0 if everything held, 1 if not, 2 for a bad argument; 130 after Ctrl-C.`;

/** The options of the command line. */
export interface Options {
  readonly help: boolean;
  readonly redis: string | undefined;
  readonly sections: number;
}

/** Parses the command line; throws an error that says what is wrong with it. */
export function parse(args: readonly string[]): Options {
  const { values } = parseArgs({
    // Users of npm put "--" before the arguments of a task.
    args: args[0] === "--" ? args.slice(1) : [...args],
    options: {
      help: { type: "boolean", short: "h", default: false },
      redis: { type: "string" },
      sections: { type: "string", default: "150" },
    },
  });
  const { help, redis } = values;
  if (redis !== undefined && !isRedisUrl(redis)) {
    throw new TypeError(`--redis must be a URL such as redis://127.0.0.1:6379: got '${redis}'`);
  }
  const sections = Number(values.sections);
  if (!Number.isInteger(sections) || sections < 1 || sections > 10_000) {
    throw new RangeError(`--sections must be a whole number from 1 to 10000: got '${values.sections}'`);
  }
  return { help, redis, sections };
}

function isRedisUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^rediss?:$/.test(url.protocol) && url.hostname !== "";
}
