/** A moment on both of the machine's clocks, in milliseconds. Only differences between moments have a meaning. */
export interface Instant {
  /** The monotonic clock: never set, but it may stand still while the machine is suspended. */
  readonly monotonic: number;
  /** The wall clock: goes on while the machine is suspended, but it may be set, also backwards. */
  readonly wall: number;
}

/** A timer that was made by `Clock.timer()`. */
export interface Timer {
  /** Keeps the timer from running. */
  cancel(): void;
}

/** The only access to time. Tests pass their own. */
export interface Clock {
  /** Returns the present moment. */
  now(): Instant;
  /**
   * Runs a function once, `ms` milliseconds after a moment, by default the present. Does not keep the process alive.
   *
   * @param latest only for leases: the timer then goes by the clock that moved further, like {@linkcode elapsed}
   */
  timer(ms: number, run: () => void, from?: Instant, latest?: number): Timer;
  /** Resolves in `ms` milliseconds, or as soon as the signal aborts. Keeps the process alive meanwhile. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The longest delay that `setTimeout` takes, in milliseconds: a 32-bit signed integer. */
export const MAX_DELAY_MS = 2 ** 31 - 1;

/** How often a timer of a lease looks at the wall clock, in milliseconds: after a machine was suspended it is late. */
const LOOK_MS = 1_000;

/** A clock on the machine's own clocks. */
export class SystemClock implements Clock {
  now(): Instant {
    return { monotonic: performance.now(), wall: Date.now() };
  }

  timer(ms: number, run: () => void, from?: Instant, latest?: number): Timer {
    const since = from ?? this.now();
    let id: ReturnType<typeof setTimeout>;
    const [age, most] = latest === undefined ? [monotonicMs, MAX_DELAY_MS] : [elapsed, LOOK_MS];
    const set = (left: number) => {
      // Rounded up: a timer that fires a fraction early would be set again.
      id = setTimeout(look, Math.max(0, Math.min(Math.ceil(left), most)));
      const timer: { unref?(): void } | number = id;
      if (typeof timer === "object") timer.unref?.();
    };
    const look = () => {
      const left = ms - age(since, this.now());
      if (left > 0) set(left);
      else run();
    };
    set(ms - age(since, this.now()));
    return { cancel: () => clearTimeout(id) };
  }

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

/**
 * Returns the milliseconds from one moment to another by the clock that moved further: the age of a lease. Each of the
 * two clocks alone can make a lease seem younger than it is.
 */
export function elapsed(from: Instant, to: Instant): number {
  return Math.max(to.monotonic - from.monotonic, to.wall - from.wall);
}

/** Returns the milliseconds from one moment to another by the monotonic clock: how long something took. */
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
