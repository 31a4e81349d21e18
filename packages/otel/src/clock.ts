/** A moment on both of the machine's clocks, in milliseconds. Only differences between moments have a meaning. */
export interface Instant {
  /** The monotonic clock: never set, but it may stand still while the machine is suspended. */
  readonly monotonic: number;
  /** The wall clock: goes on while the machine is suspended, but it may be set, also backwards. */
  readonly wall: number;
}

/** The only access to time. Tests pass their own. */
export interface Clock {
  /** Returns the present moment. */
  now(): Instant;
}

/** The machine's own clocks. */
export class SystemClock implements Clock {
  now(): Instant {
    return { monotonic: performance.now(), wall: Date.now() };
  }
}

/** Returns the moment `ms` milliseconds before another. */
export function before({ monotonic, wall }: Instant, ms: number): Instant {
  return { monotonic: monotonic - ms, wall: wall - ms };
}

/** Returns the milliseconds from one moment to another, by the clock that moved further: the age of a lease. */
export function elapsed(from: Instant, to: Instant): number {
  return Math.max(to.monotonic - from.monotonic, to.wall - from.wall);
}

/** Returns the milliseconds from one moment to another by the monotonic clock: how long something took. */
export function monotonicMs(from: Instant, to: Instant): number {
  return to.monotonic - from.monotonic;
}
