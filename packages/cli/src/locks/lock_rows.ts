import { showDuration } from "../display/duration.ts";
import { modeName, oldestFirst } from "../display/entries.ts";
import { type Totals, waitingSince } from "../listing/locks.ts";
import { holderName, type ListedLock } from "./listing.ts";
import { shown } from "../terminal/shown.ts";

/** The text of a cell without a value. */
const UNKNOWN = "-";

const HEAD = ["NAME", "HELD BY", "MODE", "SINCE", "EXPIRES", "WAITING", "LONGEST WAIT"];

/** Returns the rows of a table of locks; the first row has the names of the columns. `now` is the wall clock. */
export function lockRows(locks: readonly ListedLock[], now: number): string[][] {
  return [HEAD, ...locks.map((lock) => rowOf(lock, now))];
}

/** Returns totals in words. */
export function showTotals({ held, waiting, contended }: Totals): string {
  return `${held} held, ${waiting} waiting, ${contended} contended`;
}

/** Returns the age of an instant that the store tells; both by the wall clock. */
export function showAge(since: number | undefined, now: number): string {
  return since === undefined ? UNKNOWN : showDuration(now - since);
}

function rowOf(lock: ListedLock, now: number): string[] {
  const { name, held, pending } = lock;
  const [first] = oldestFirst(held);
  const mode = first ?? pending[0];
  const waiting = pending.length === 0 ? [UNKNOWN, UNKNOWN] : [`${pending.length}`, showAge(waitingSince(lock), now)];
  const kind = mode === undefined ? UNKNOWN : modeName(mode);
  // The next waiter is granted the lock when it attempts again.
  if (first === undefined) return [shown(name), "nobody yet", kind, UNKNOWN, UNKNOWN, ...waiting];
  // The lease that ends last: nobody else is granted it before.
  const last = held.reduce((a, b) => (b.expiresIn ?? 0) > (a.expiresIn ?? 0) ? b : a);
  const expires = last.expiresIn === undefined ? UNKNOWN : showDuration(last.expiresIn);
  const holders = holderName(first) + (held.length === 1 ? "" : ` and ${held.length - 1} more`);
  return [shown(name), holders, kind, showAge(first.since, now), expires, ...waiting];
}
