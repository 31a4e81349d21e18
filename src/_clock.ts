/** A moment on both of the machine's clocks, in milliseconds. Only differences mean anything. */
export interface Instant {
  /** Never set, but it may stand still while the machine is suspended. */
  readonly monotonic: number;
  /** Goes on while the machine is suspended, but it may be set, also backwards. */
  readonly wall: number;
}

/** A timer that was made by {@linkcode Clock.timer}. */
export interface Timer {
  /** After this the timer does not run any more. */
  cancel(): void;
}

/** Everything that the package knows about time. Simulations pass their own. */
export interface Clock {
  /** The present moment. */
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
export const MAX_DELAY = 2 ** 31 - 1;

/**
 * The longest nap of the one timer behind a clock's timers, in milliseconds. Most timers are cancelled long before they
 * run; as the nap is short, hardly any of them has to set the real timer anew.
 */
const MAX_NAP = 1_000;

/** With many timers at once those that may run late do, by so many milliseconds per timer: 10 ms with 10,000 of them. */
const LATENESS = 1 / 1_000;

/**
 * How many microtasks the real timer outlives the last of the timers behind it. A loop that takes lock after lock has
 * made the next one by then, and need not set a real timer each time; nothing is left when the event loop turns.
 */
const AFTERLIFE = 16;

/**
 * A clock on the machine's own clocks. Its timers share one real timer, which exists only while one of them does: a
 * lock is often held for less time than setting and clearing a real timer takes.
 */
export class SystemClock implements Clock {
  readonly #alarms = new Set<Alarm>();
  #napping: ReturnType<typeof setTimeout> | undefined;
  #napEnds = Infinity;
  #expiring = false;

  now(): Instant {
    return { monotonic: performance.now(), wall: Date.now() };
  }

  timer(ms: number, run: () => void, from: Instant = this.now(), latest = ms): Timer {
    const alarm = new Alarm(this, from, ms, latest, run);
    this.#alarms.add(alarm);
    if (alarm.due < this.#napEnds) this.#nap(this.#ring(alarm, performance.now()));
    return alarm;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleep(ms, signal);
  }

  /** Takes a timer away; without any there is no real timer either. */
  remove(alarm: Alarm): void {
    if (this.#alarms.delete(alarm) && this.#alarms.size === 0 && !this.#expiring) void this.#expire();
  }

  async #expire(): Promise<void> {
    this.#expiring = true;
    for (let microtasks = AFTERLIFE; microtasks > 0 && this.#alarms.size === 0; microtasks--) await undefined;
    this.#expiring = false;
    if (this.#alarms.size === 0) this.#stop();
  }

  /** When an alarm is to run: not before it is due, and late only if it may be. */
  #ring(alarm: Alarm, now: number): number {
    return Math.min(Math.max(alarm.due, now + this.#alarms.size * LATENESS), alarm.latest);
  }

  /** Naps until then, unless it naps no longer anyway. */
  #nap(until: number): void {
    if (until >= this.#napEnds) return;
    clearTimeout(this.#napping);
    // Read here: since the moment that a timer counts from a lot may have happened.
    const now = performance.now();
    const ms = Math.min(Math.max(until - now, 0), MAX_NAP);
    this.#napEnds = now + ms;
    // Rounded up: a timer that runs a fraction early would find nothing to do.
    const id: { unref?(): void } | number = setTimeout(() => this.#wake(), Math.ceil(ms));
    // Deno, Node and Bun give an object; where there is no process to keep alive it is a number.
    if (typeof id === "object") id.unref?.();
    this.#napping = id as ReturnType<typeof setTimeout>;
  }

  #wake(): void {
    this.#stop();
    const { monotonic: now, wall } = this.now();
    // By the wall clock as well: the holder of a lease is to be told within one nap after its machine was asleep.
    const due = [...this.#alarms].filter((alarm) => alarm.due <= now || alarm.dueWall <= wall).sort((a, b) =>
      a.due - b.due
    );
    // One by one: what one of them runs may cancel another.
    for (const alarm of due) if (this.#alarms.delete(alarm)) alarm.run();
    let next = Infinity;
    for (const alarm of this.#alarms) next = Math.min(next, this.#ring(alarm, now));
    if (this.#alarms.size > 0) this.#nap(next);
  }

  #stop(): void {
    clearTimeout(this.#napping);
    this.#napping = undefined;
    this.#napEnds = Infinity;
  }
}

class Alarm implements Timer {
  readonly #clock: SystemClock;
  readonly due: number;
  readonly latest: number;
  /** A millisecond later, as the wall clock counts in whole ones: never early. */
  readonly dueWall: number;
  readonly run: () => void;

  constructor(clock: SystemClock, made: Instant, ms: number, latest: number, run: () => void) {
    this.#clock = clock;
    this.due = made.monotonic + ms;
    this.latest = made.monotonic + Math.max(ms, latest);
    this.dueWall = made.wall + ms + 1;
    this.run = run;
  }

  cancel(): void {
    this.#clock.remove(this);
  }
}

/**
 * Milliseconds from one moment to another: the *larger* of what the two clocks say. A suspended machine stops the
 * monotonic clock and somebody may set the wall clock back, so each alone can make a lease seem younger than it is.
 */
export function elapsed(from: Instant, to: Instant): number {
  return Math.max(to.monotonic - from.monotonic, to.wall - from.wall);
}

/** Resolves in `ms` milliseconds, or as soon as the signal aborts. Keeps the process alive meanwhile. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
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
