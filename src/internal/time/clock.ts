import { type Instant, sleep, type Timer, TimerPool } from "./timers.ts";

export type { Instant, Timer };

/** The package's only access to time. Simulations pass their own. */
export interface Clock {
  /** Returns the present moment. */
  now(): Instant;
  /**
   * Runs a function once, `ms` milliseconds after a moment, by default this one. With many timers it may run somewhat
   * later, but not for that reason more than `latest` milliseconds after the moment, by default `ms`. Does not keep the
   * process alive.
   */
  timer(ms: number, run: () => void, from?: Instant, latest?: number): Timer;
  /** Resolves in `ms` milliseconds, or as soon as the signal aborts. Keeps the process alive meanwhile. */
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

  timer(ms: number, run: () => void, from: Instant = this.now(), latest = ms): Timer {
    return this.#timers.add(ms, run, from, latest);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleep(ms, signal);
  }
}

/** Returns the moment that was `ms` milliseconds before another one. */
export function before({ monotonic, wall }: Instant, ms: number): Instant {
  return { monotonic: monotonic - ms, wall: wall - ms };
}

/**
 * Returns the milliseconds from one moment to another: the *larger* of what the two clocks say. A suspended machine
 * stops the monotonic clock, and somebody may set the wall clock back: each alone can make a lease seem younger than it
 * is.
 */
export function elapsed(from: Instant, to: Instant): number {
  return Math.max(to.monotonic - from.monotonic, to.wall - from.wall);
}

/** Returns a moment of a wall clock, in milliseconds since the Unix epoch, as people and programs read it (ISO 8601). */
export function isoTime(wall: number): string {
  // Others may have written what no clock says.
  return Math.abs(wall) <= 8.64e15 ? new Date(wall).toISOString() : String(wall);
}
