import { type Instant, sleep, type Timer, TimerPool } from "./timers.ts";

export type { Instant, Timer };

/** The package's only access to time. Simulations pass their own. */
export interface Clock {
  now(): Instant;
  /**
   * Runs a function once, `ms` milliseconds after a moment, by default now, by the monotonic clock. Does not keep the
   * process alive.
   *
   * @param latest only for leases: the timer then goes by the clock that moved further, like {@linkcode elapsed}. With
   * many timers it may run slightly later, but at most `latest` milliseconds after the moment
   */
  timer(ms: number, run: () => void, from?: Instant, latest?: number): Timer;
  /** Resolves in `ms` milliseconds, or as soon as the signal aborts. Keeps the process alive until then. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The longest delay that `setTimeout` takes, in milliseconds: a 32-bit signed integer. */
export const MAX_DELAY_MS = 2 ** 31 - 1;

/** A clock on the machine's own clocks. Its timers share one real timer. */
export class SystemClock implements Clock {
  readonly #timers = new TimerPool(() => this.now());

  now(): Instant {
    return { monotonic: performance.now(), wall: Date.now() };
  }

  timer(ms: number, run: () => void, from?: Instant, latest?: number): Timer {
    return this.#timers.add(ms, run, from ?? this.now(), latest);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleep(ms, signal);
  }
}

/** Returns the moment `ms` milliseconds before another. */
export function before({ monotonic, wall }: Instant, ms: number): Instant {
  return { monotonic: monotonic - ms, wall: wall - ms };
}

/**
 * Returns the age of a lease, in milliseconds from one moment to another: the *larger* difference of the two clocks. A
 * suspended machine stops the monotonic clock, and the wall clock may be set back: each clock alone can make a lease
 * seem younger than it is. Time-outs use {@linkcode monotonicMs}.
 */
export function elapsed(from: Instant, to: Instant): number {
  return Math.max(to.monotonic - from.monotonic, to.wall - from.wall);
}

/** Returns the milliseconds between two moments by the monotonic clock: a clock set forward must not end a wait. */
export function monotonicMs(from: Instant, to: Instant): number {
  return to.monotonic - from.monotonic;
}

/**
 * Returns a moment of a wall clock, in milliseconds since the Unix epoch, as people and programs read it (ISO 8601).
 */
export function isoTime(wall: number): string {
  // Others may have written what no clock says.
  return Math.abs(wall) <= 8.64e15 ? new Date(wall).toISOString() : String(wall);
}

/**
 * Converts a moment of this process to the clock of the store, in milliseconds since the Unix epoch.
 *
 * @param moment the moment
 * @param known another moment by the clock of the store; `undefined` to take the clock of this process for the store's
 * @param at the other moment by the clocks of this process
 */
export function onStoreClock(moment: Instant, known: number | undefined, at: Instant): number {
  if (known === undefined) return moment.wall;
  return Math.round(known + (moment.monotonic - at.monotonic));
}

/** The lateness of a timer that makes it prove nothing, and the further wait for answers then, in milliseconds. */
export const GRACE_MS = 1_000;

/**
 * Runs a function when no answer came within `ms` milliseconds of a moment, by default now. A timer that runs late
 * proves nothing: the process may have been stopped, and the answer may lie unread behind the timer. The answer then
 * gets another second.
 */
export function overdue(ms: number, run: () => void, clock: Clock, from: Instant = clock.now()): Timer {
  let timer = clock.timer(ms, () => {
    // By both clocks: a machine that was suspended has not read its answers either.
    if (elapsed(from, clock.now()) < ms + GRACE_MS) run();
    else timer = clock.timer(GRACE_MS, run);
  }, from);
  return { cancel: () => timer.cancel() };
}

/**
 * Returns the pause before the next try, in milliseconds: the first pause, doubled with each retry, up to the longest.
 */
export function backoffMs(retries: number, first: number, longest: number): number {
  return Math.min(first * 2 ** retries, longest);
}
