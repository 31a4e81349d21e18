/**
 * What a run wrote down about fenced locks. All times are milliseconds of one clock that the processes of the machine
 * share; see `now()`.
 */
export interface History {
  /** The acquires that were granted. */
  readonly grants: readonly Grant[];
  /** The releases that were called. */
  readonly releases: readonly Release[];
  /** What the resources saw, each in the order in which it saw it. */
  readonly writes: readonly Write[];
  /** When exclusion was not promised. */
  readonly breaches: readonly Breach[];
}

/** An acquire that was granted. */
export interface Grant {
  readonly lock: string;
  readonly owner: string;
  readonly fence: bigint;
  /** When it was called, and when it returned. */
  readonly start: number;
  readonly end: number;
  /** When the holder found for the last time that it held the lock; `start` when it never did. */
  readonly believed: number;
  /** When it acted for the last time on what it had found: later than that, if it was paused in between. */
  readonly acted: number;
}

/** A release that was called. */
export interface Release {
  readonly lock: string;
  readonly owner: string;
  readonly start: number;
  readonly end: number;
  /** Whether it succeeded, or the lock was lost before, or nobody knows. */
  readonly outcome: "released" | "lost" | "unknown";
  /** Of a lock that was lost, why. */
  readonly why?: string;
}

/** An attempt to raise the number that a resource keeps, by one. */
export interface Write {
  /** The lock that protects the resource. */
  readonly lock: string;
  readonly fence: bigint;
  /** What it was to become. */
  readonly value: number;
  readonly accepted: boolean;
  readonly at: number;
}

/**
 * A fault that lets a lock be given away while it is held: its data was lost, or a clock of its server jumped ahead.
 */
export interface Breach {
  readonly start: number;
  readonly end: number;
  readonly what: string;
}

/**
 * Returns whether there was a breach between the call of the first and the grant of both. The first in the order of the
 * fences may be granted last: when the answers to its request are late and a node loses what it has granted meanwhile,
 * its old fence still wins. The resource refuses it then.
 */
export function excused(first: Grant, second: Grant, breaches: readonly Breach[]): boolean {
  const granted = Math.max(first.end, second.end);
  return breaches.some((breach) => breach.end >= first.start && breach.start <= granted);
}

/**
 * How often the clocks of a process are compared at least, and how long at most, in milliseconds. The wall clock has
 * whole ones: how far it is ahead is known as exactly as it is known when the next one begins.
 */
const [READINGS, COMPARED] = [100, 100];

/** How many times the next millisecond must have been seen to begin, and how exactly, in milliseconds. */
const [TICKS, EXACTLY] = [3, 0.04];

/**
 * By how much this process's monotonic clock is behind the wall clock, in milliseconds. `performance.timeOrigin` alone
 * may be off by more than 10 ms.
 */
const behind = compare(Date.now, () => performance.timeOrigin + performance.now());

/**
 * Returns the present moment, in milliseconds. Each process adds its monotonic clock to the wall clock as it was when
 * the process began, so that all of them agree as long as nobody sets the machine's clock; pauses do not stop it.
 */
export function now(): number {
  return performance.timeOrigin + performance.now() + behind;
}

/**
 * Returns by how much a fine clock is behind a wall clock of whole milliseconds, negative when it is ahead. An
 * interruption between two readings makes the difference smaller, so the largest one is the best.
 */
export function compare(wall: () => number, fine: () => number): number {
  let since = fine();
  let last = { wall: wall(), fine: fine() };
  const end = last.fine + COMPARED;
  let largest = last.wall - last.fine;
  let ticks = 0;
  // However long the process was interrupted, it has read them.
  for (let readings = 0; readings < READINGS || ticks < TICKS && last.fine < end; readings++) {
    const next = { wall: wall(), fine: fine() };
    largest = Math.max(largest, next.wall - next.fine);
    // It began between the two looks at the wall clock, the first of which came after `since`.
    if (next.wall > last.wall && next.fine - since < EXACTLY) ticks++;
    since = last.fine;
    last = next;
  }
  return largest;
}
