/** A timer that was made by `Clock.timer()`. */
export interface Timer {
  /** Keeps the timer from running. */
  cancel(): void;
}

/** The only access to time. Tests pass their own. */
export interface Clock {
  /**
   * Returns the present moment by both clocks, in milliseconds: by the monotonic clock, which is never set, and by the
   * wall clock.
   */
  now(): { readonly monotonic: number; readonly wall: number };
  /** Runs a function in `ms` milliseconds. Does not keep the process alive. */
  timer(ms: number, run: () => void): Timer;
}

/** The machine's own clocks. */
export class SystemClock implements Clock {
  now(): { readonly monotonic: number; readonly wall: number } {
    return { monotonic: performance.now(), wall: Date.now() };
  }

  timer(ms: number, run: () => void): Timer {
    const id: { unref?(): void } | number = setTimeout(run, ms);
    // An object in Deno, Node and Bun; a number where there is no process to keep alive.
    if (typeof id === "object") id.unref?.();
    return { cancel: () => clearTimeout(id as ReturnType<typeof setTimeout>) };
  }
}
