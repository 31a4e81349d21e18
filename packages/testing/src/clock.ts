/** A moment on both of the machine's clocks, in milliseconds. Only differences between moments have a meaning. */
export interface Instant {
  /** The monotonic clock: never set, but it may stand still while the machine is suspended. */
  readonly monotonic: number;
  /** The wall clock: goes on while the machine is suspended, but it may be set, also backwards. */
  readonly wall: number;
}

/** The machine's own clocks, and its timers. */
export class SystemClock {
  now(): Instant {
    return { monotonic: performance.now(), wall: Date.now() };
  }

  /** Resolves in `ms` milliseconds, or as soon as the signal aborts. Keeps the process alive meanwhile. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(id);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const id = setTimeout(done, ms);
      signal?.addEventListener("abort", done);
    });
  }
}

/** Returns the milliseconds from one moment to another, by the clock that moved further: the age of a lease. */
export function elapsed(from: Instant, to: Instant): number {
  return Math.max(to.monotonic - from.monotonic, to.wall - from.wall);
}
