import type { AcquireOptions } from "@holdfast/lock";
import { checkArguments } from "@holdfast/lock/authors";
import { type Invocation, type OptionSpec, UsageError } from "../command.ts";
import { parseDuration } from "../locks/durations.ts";
import type { StopTimes } from "../supervise/supervision.ts";

/** The shortest lease under which a command can be stopped in time, in milliseconds. */
const MIN_LEASE_MS = 1_000;

const DEFAULT_LEASE_MS = 30_000;
const DEFAULT_GRACE_MS = 5_000;

/** How long before the end of the lease a command is killed at the latest: a part of the lease, up to a limit. */
const MARGIN = 1 / 10;
const MAX_MARGIN_MS = 1_000;

/** Grace and margin together, as a part of the lease: two renewals may fail before the command is stopped. */
const MAX_STOP = 1 / 3;

/** The longest part of the program's name that is stored with the lock, in characters. */
const MAX_PROGRAM = 100;

/** The options of `holdfast run`. */
export const RUN_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  lease: { type: "string", value: "TIME", help: "how long the lock outlives a holder that died; at least 1s (30s)" },
  wait: { type: "string", value: "TIME", help: "how long to wait for the lock; 0 tries once (for ever)" },
  "at-least": { type: "string", value: "TIME", help: "keep the lock for so long, however soon the command ends (0)" },
  quiet: { type: "boolean", help: "say nothing when the lock is busy: status 75 alone" },
  permits: { type: "string", value: "N", help: "how many may hold it at once" },
  shared: { type: "boolean", help: "hold it together with other shared holders" },
  owner: { type: "string", value: "ID", help: "hold it beside other handles of this owner" },
  steal: { type: "boolean", help: "take it away from its holders" },
  meta: { type: "string", multiple: true, value: "KEY=VALUE", help: "describe the holder; may be repeated" },
  grace: { type: "string", value: "TIME", help: "from SIGTERM to SIGKILL when the lock is lost (5s, or what fits)" },
  foreground: { type: "boolean", help: "leave the command the terminal: signals then reach it alone" },
  watchdog: { type: "boolean", help: "stop the command also when holdfast itself stalls or is killed" },
};

/** The options of `holdfast run`, checked. */
export interface RunRequest {
  readonly name: string;
  readonly command: readonly string[];
  readonly lock: AcquireOptions;
  readonly lease: number;
  readonly times: StopTimes;
  /** Whether it says nothing when the lock is busy. */
  readonly quiet: boolean;
  readonly foreground: boolean;
  readonly watchdog: boolean;
}

/**
 * Reads the options of `holdfast run`. @throws {UsageError} when the command line is wrong
 *
 * @throws {UsageError} when the command line is wrong
 */
export function readRunRequest({ args, rest, options, lists }: Invocation): RunRequest {
  const [name, ...further] = args;
  if (name === undefined) throw new UsageError("the name of the lock is missing: holdfast run NAME -- COMMAND");
  const [program] = rest;
  if (program === undefined || further.length > 0) {
    throw new UsageError("the command must stand behind two dashes: holdfast run NAME -- COMMAND");
  }
  const text = (option: string) => {
    const value = options[option];
    return typeof value === "string" ? value : undefined;
  };
  const duration = (option: string, least?: number) => {
    const value = text(option);
    return value === undefined ? undefined : parseDuration(option, value, least);
  };
  const lease = duration("lease", MIN_LEASE_MS) ?? DEFAULT_LEASE_MS;
  const permits = text("permits");
  const lock: AcquireOptions = {
    lease,
    wait: duration("wait"),
    atLeast: duration("at-least"),
    mode: options["shared"] === true ? "shared" : "exclusive",
    permits: permits === undefined ? undefined : Number(permits || NaN),
    owner: text("owner"),
    steal: options["steal"] === true,
    meta: readMeta(program, lists?.["meta"] ?? [text("meta") ?? []].flat()),
  };
  check(name, lock);
  return {
    name,
    command: rest,
    lock,
    lease,
    times: stopTimes(lease, duration("grace")),
    quiet: options["quiet"] === true,
    foreground: options["foreground"] === true,
    watchdog: options["watchdog"] === true,
  };
}

/** Checks the options of the lock, before a store is opened. */
function check(name: string, lock: AcquireOptions): void {
  try {
    checkArguments(name, lock);
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) throw new UsageError(error.message);
    throw error;
  }
}

/** Returns the description of the holder in listings: the program without its arguments, and the values of `--meta`. */
function readMeta(program: string, given: readonly string[]): Record<string, string> {
  const base = program.slice(program.lastIndexOf("/") + 1).slice(0, MAX_PROGRAM).toWellFormed();
  const pairs = given.map((pair): [string, string] => {
    const at = pair.indexOf("=");
    if (at < 1) throw new UsageError(`--meta must be KEY=VALUE: got ${JSON.stringify(pair)}`);
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  return { command: base, ...Object.fromEntries(pairs) };
}

function stopTimes(lease: number, grace: number | undefined): StopTimes {
  const marginMs = Math.min(MAX_MARGIN_MS, lease * MARGIN);
  const longest = Math.floor(lease * MAX_STOP - marginMs);
  if (grace !== undefined && grace > longest) {
    throw new UsageError(
      `--grace must be at most ${longest} ms with a lease of ${lease} ms, so that the command is dead before that ends: ` +
        `got ${grace} ms. Choose a longer --lease`,
    );
  }
  return { graceMs: grace ?? Math.min(DEFAULT_GRACE_MS, longest), marginMs };
}
