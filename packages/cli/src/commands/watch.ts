import { StoreError } from "@holdfast/lock";
import { reason } from "@holdfast/lock/authors";
import { isoTime, SystemClock } from "../time/clock.ts";
import { placeName } from "../display/entries.ts";
import { totalsOf } from "../listing/locks.ts";
import { type Change, changesBetween } from "../locks/changes.ts";
import { type Invocation, type Terminal, type TerminalSize, UsageError, type Verb } from "../command.ts";
import { parseDuration } from "../locks/durations.ts";
import { STATUS } from "../failure.ts";
import { allLocks, holderName, type ListedLock, type Wanted, wanted, warnIfPartial } from "../locks/listing.ts";
import { lockRows, showTotals } from "../locks/lock_rows.ts";
import type { OpenedStore } from "../schemes/scheme.ts";
import { json, oneLine, shown } from "../terminal/shown.ts";
import { cut, table } from "../terminal/table.ts";
import { paint } from "../terminal/terminal.ts";

const DEFAULT_INTERVAL_MS = 1_000;
const MIN_INTERVAL_MS = 50;

/** Codes of a terminal: to the upper left corner; clear to the right of the cursor; clear below it. */
const HOME = "\x1b[H";
const CLEAR_RIGHT = "\x1b[K";
const CLEAR_BELOW = "\x1b[J";

/** Shows locks while they change. */
export const watch: Verb = {
  name: "watch",
  summary: "Show locks while they change, until Ctrl-C",
  usage: "[PATTERN|NAME] [options]",
  options: {
    interval: { type: "string", value: "TIME", help: "how often the store is asked (1s)" },
  },
  examples: [
    { line: "holdfast watch", what: "a table that is drawn anew each second; without a terminal a line per change" },
    { line: "holdfast watch 'invoice:*' --interval 200ms", what: "those whose names match" },
    {
      line: "holdfast watch deploy --json >> deploy.log",
      what: "each change as JSON; what begins and ends between two looks is not seen",
    },
  ],
  statuses: { [STATUS.ok]: false },
  run,
};

async function run(invocation: Invocation): Promise<number> {
  const { args, rest, options, terminal, signal } = invocation;
  const [word, ...further] = [...args, ...rest];
  if (further.length > 0) throw new UsageError(`watch takes one pattern: holdfast watch '${word}'`);
  const { interval } = options;
  const pause = typeof interval === "string"
    ? parseDuration("interval", interval, MIN_INTERVAL_MS)
    : DEFAULT_INTERVAL_MS;
  const opened = await invocation.store({ existing: true });
  await warnIfPartial(opened, invocation);
  const clock = new SystemClock();
  const look = new Look(opened, wanted(word), signal);
  const view = terminal.size?.() !== undefined && !terminal.json
    ? new Screen(terminal, opened.label)
    : new Log(terminal);
  for (;;) {
    view.update(await look.again(), clock.now().wall);
    await clock.sleep(pause, signal);
    signal.throwIfAborted();
  }
}

/** The locks that were read, or why they could not be read. */
type Seen = { readonly locks: readonly ListedLock[] } | { readonly fault: string };

/** Reads the locks again and again. */
class Look {
  readonly #opened: OpenedStore;
  readonly #which: Wanted;
  readonly #signal: AbortSignal;
  #answered = false;

  constructor(opened: OpenedStore, which: Wanted, signal: AbortSignal) {
    this.#opened = opened;
    this.#which = which;
    this.#signal = signal;
  }

  /** Resolves to the present locks. Once the store has answered, later faults are part of the result. */
  async again(): Promise<Seen> {
    try {
      const locks = await allLocks(this.#opened, this.#which, this.#signal);
      this.#answered = true;
      return { locks };
    } catch (error) {
      if (!this.#answered || !(error instanceof StoreError) || error.permanent) throw error;
      return { fault: oneLine(reason(error)) };
    }
  }
}

/** The largest part of the screen for the last changes. */
const CHANGES = 1 / 4;

/** Draws a table over the previous table, with the last changes below it. */
class Screen {
  readonly #terminal: Terminal;
  readonly #label: string;
  #drawn = false;
  #before: readonly ListedLock[] | undefined;
  /** The last changes, the latest first. */
  #changes: readonly string[] = [];

  constructor(terminal: Terminal, label: string) {
    this.#terminal = terminal;
    this.#label = label;
  }

  update(seen: Seen, now: number): void {
    const size = this.#terminal.size?.();
    if (size === undefined) return;
    const lines = this.#lines(seen, now, size);
    // All at once: a table that comes in parts flickers.
    const start = this.#drawn ? HOME : HOME + CLEAR_BELOW;
    this.#drawn = true;
    this.#terminal.out(start + lines.map((line) => line + CLEAR_RIGHT).join("\n") + CLEAR_BELOW);
  }

  #lines(seen: Seen, now: number, { columns, rows }: TerminalSize): string[] {
    const time = isoTime(now).slice(11, 19);
    if ("fault" in seen) {
      return [cut(`${time} ${seen.fault}`, columns)].map((line) => paint(this.#terminal, "red", line));
    }
    const { locks } = seen;
    const latest = changesBetween(this.#before ?? locks, locks).map((change) => `${time} ${changeLine(change)}`);
    this.#changes = [...latest.reverse(), ...this.#changes].slice(0, Math.floor(rows * CHANGES));
    this.#before = locks;
    const changes = this.#changes.length === 0 ? [] : ["", ...this.#changes];
    const title = `${time} UTC  ${this.#label}  ${showTotals(totalsOf(locks))}`;
    // Below the title, an empty line and the head of the table; the last row is for the cursor.
    const fit = Math.max(0, rows - 5 - changes.length);
    const [head = "", ...body] = table(lockRows(locks.slice(0, fit), now));
    const hidden = locks.length - body.length;
    return [
      cut(title, columns),
      "",
      paint(this.#terminal, "bold", cut(head, columns)),
      ...body.map((line) => cut(line, columns)),
      ...hidden > 0 ? [cut(`and ${hidden} more: give a pattern`, columns)] : [],
      ...changes.map((line) => cut(line, columns)),
    ];
  }
}

/** Writes a line for each change. */
class Log {
  readonly #terminal: Terminal;
  #before: readonly ListedLock[] = [];
  #fault = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  update(seen: Seen, now: number): void {
    if ("fault" in seen) {
      // Once, not at each look.
      if (!this.#fault) this.#terminal.err(`holdfast: ${isoTime(now)} ${seen.fault}`);
      this.#fault = true;
      return;
    }
    this.#fault = false;
    const time = isoTime(now);
    for (const change of changesBetween(this.#before, seen.locks)) this.#terminal.out(this.#line(change, time));
    this.#before = seen.locks;
  }

  #line(change: Change, time: string): string {
    if (this.#terminal.json) return json({ time, change: change.change, ...change.entry });
    return `${time} ${changeLine(change)}`;
  }
}

/** Describes a change. */
function changeLine({ change, entry }: Change): string {
  return `${shown(entry.name)}: ${holderName(entry)} ${change} (${placeName(entry)})`;
}
