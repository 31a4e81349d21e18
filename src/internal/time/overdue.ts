import { type Clock, elapsed, type Instant, type Timer } from "./clock.ts";

/** By how much a timer must be late to prove nothing, and how long answers are waited for then, in milliseconds. */
const GRACE_MS = 1_000;

/**
 * Runs a function when no answer came within `ms` milliseconds of a moment. A timer that runs late proves nothing: the
 * process may have been stopped, and the answer may lie unread behind the timer. It is then waited for another second.
 */
export function overdue(ms: number, run: () => void, clock: Clock, from: Instant): Timer {
  let timer = clock.timer(ms, () => {
    if (elapsed(from, clock.now()) < ms + GRACE_MS) run();
    else timer = clock.timer(GRACE_MS, run);
  }, from);
  return { cancel: () => timer.cancel() };
}
