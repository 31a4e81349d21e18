import { StoreError } from "@holdfast/lock";
import { type Clock, type Instant, monotonicMs, SystemClock } from "../time/clock.ts";
import { showDuration } from "../display/duration.ts";
import type { Invocation, Verb } from "../command.ts";
import { parseDuration } from "../locks/durations.ts";
import { STATUS } from "../failure.ts";
import { holderName, type ListedLock, lockOf, warnIfPartial } from "../locks/listing.ts";
import { oneName } from "../arguments/one_name.ts";
import type { OpenedStore } from "../schemes/scheme.ts";
import { json, shown } from "../terminal/shown.ts";

/** How often the store is asked, in milliseconds: at first, and at most. */
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 500;

/** For how long a store may fail before the wait ends, in milliseconds: the limit of `acquire`. */
const FAULT_LIMIT_MS = 10_000;

/** Waits until nobody holds a lock. */
export const wait: Verb = {
  name: "wait",
  summary: "Wait until nobody holds a lock",
  usage: "NAME [options]",
  options: {
    timeout: {
      type: "string",
      value: "TIME",
      help: "how long to wait, such as 500ms, 5s, 2m; 0 looks once (for ever)",
    },
  },
  examples: [
    { line: "holdfast wait nightly-report && ./upload.sh", what: "go on when the report is done" },
    { line: "holdfast wait deploy --timeout 10m || echo still busy", what: "for ten minutes at most" },
  ],
  statuses: { [STATUS.ok]: "nobody held the lock", [STATUS.busy]: "somebody held it until the time was over" },
  run,
};

async function run(invocation: Invocation): Promise<number> {
  const { terminal, signal, options } = invocation;
  const name = oneName("wait", invocation);
  const { timeout } = options;
  const limit = typeof timeout === "string" ? parseDuration("timeout", timeout) : Infinity;
  const clock = new SystemClock();
  const started = clock.now();
  const opened = await invocation.store({ existing: true });
  await warnIfPartial(opened, invocation);
  const lock = await untilFree(opened, name, { clock, started, limit, signal });
  const waited = Math.round(monotonicMs(started, clock.now()));
  const free = lock.held.length === 0;
  if (terminal.json) terminal.out(json({ name, free, waited, held: lock.held }));
  else if (!free) {
    const holders = lock.held.map(holderName).join(", ");
    terminal.err(`holdfast: ${shown(name)} is held by ${holders} after ${showDuration(waited)}`);
  }
  return free ? STATUS.ok : STATUS.busy;
}

/** How long to wait. */
interface Patience {
  readonly clock: Clock;
  readonly started: Instant;
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** Resolves to the lock when nobody holds it, or when the time is over. */
export async function untilFree(
  opened: OpenedStore,
  name: string,
  { clock, started, limit, signal }: Patience,
): Promise<ListedLock> {
  let answered = started;
  for (let tries = 0;; tries++) {
    try {
      const lock = await lockOf(opened, name, signal);
      answered = clock.now();
      if (lock.held.length === 0 || monotonicMs(started, answered) >= limit) return lock;
    } catch (error) {
      // Servers fail over. A store that never answered was not there from the beginning.
      const now = clock.now();
      const bearable = error instanceof StoreError && !error.permanent && answered !== started;
      if (!bearable || monotonicMs(answered, now) > FAULT_LIMIT_MS || monotonicMs(started, now) >= limit) throw error;
    }
    const left = Math.max(0, limit - monotonicMs(started, clock.now()));
    await clock.sleep(Math.min(FIRST_PAUSE_MS * 2 ** tries, MAX_PAUSE_MS, left), signal);
    signal.throwIfAborted();
  }
}
