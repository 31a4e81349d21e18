import { onAbort } from "./aborted.ts";
import { ShortLivedSet } from "./short_lived.ts";

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

/**
 * The longest delay of the real timer, in milliseconds. Most timers are cancelled long before they are due. Because the
 * real timer fires this often, a new timer is hardly ever due earlier, and the real timer need not be set again.
 */
const MAX_REAL_DELAY_MS = 1_000;

/** How late a timer may run because there are many: this many milliseconds for each timer, 10 ms with 10,000. */
const LATENESS_PER_TIMER_MS = 1 / 1_000;

/**
 * How many microtasks the real timer is kept after the last timer was cancelled. A loop that acquires one lock after
 * the other has made its next timer by then, and need not set a real timer each time. No real timer is left when the
 * event loop turns.
 */
const IDLE_MICROTASKS = 16;

/** Callbacks chained to it run in a microtask, which costs less than `queueMicrotask` in Node. */
const MICROTASK = Promise.resolve();

/**
 * Timers that share one real timer, which exists only while one of them does: a lock is often held for less time than
 * it takes to set and clear a real timer.
 */
export class TimerPool {
  readonly #now: () => Instant;
  readonly #timers = new ShortLivedSet<PooledTimer>();
  #realTimer: ReturnType<typeof setTimeout> | undefined;
  #firesAt = Infinity;
  /** How many more microtasks the real timer is kept without another timer; 0 when it is not about to be cleared. */
  #idleMicrotasks = 0;
  readonly #clearWhenIdle = (): void => {
    if (this.#timers.size > 0) this.#idleMicrotasks = 0;
    else if (--this.#idleMicrotasks > 0) MICROTASK.then(this.#clearWhenIdle);
    else this.#clearRealTimer();
  };

  constructor(now: () => Instant) {
    this.#now = now;
  }

  /** Runs a function `ms` milliseconds after a moment; see `Clock.timer()`. */
  add(ms: number, run: () => void, from: Instant, latest?: number): Timer {
    const timer = new PooledTimer(this, from, ms, latest, run);
    this.#timers.add(timer);
    if (timer.dueAt < this.#firesAt) this.#setRealTimer(this.#runAt(timer, this.#now().monotonic));
    return timer;
  }

  /** Removes a timer. The real timer goes with the last timer. */
  remove(timer: PooledTimer): void {
    if (!this.#timers.delete(timer) || this.#timers.size > 0 || this.#idleMicrotasks > 0) return;
    this.#idleMicrotasks = IDLE_MICROTASKS;
    MICROTASK.then(this.#clearWhenIdle);
  }

  /** Returns when to run a timer: not before it is due, and late only if it may be late. */
  #runAt(timer: PooledTimer, now: number): number {
    return Math.min(Math.max(timer.dueAt, now + this.#timers.size * LATENESS_PER_TIMER_MS), timer.latestAt);
  }

  /** Sets the real timer to that moment, unless it fires earlier. */
  #setRealTimer(at: number): void {
    if (at >= this.#firesAt) return;
    clearTimeout(this.#realTimer);
    // Read here: much may have happened since the moment that the timer counts from.
    const now = this.#now().monotonic;
    const ms = Math.min(Math.max(at - now, 0), MAX_REAL_DELAY_MS);
    this.#firesAt = now + ms;
    // Rounded up: a timer that fires a fraction early would find nothing due.
    const id: { unref?(): void } | number = setTimeout(() => this.#fire(), Math.ceil(ms));
    // An object in Deno, Node and Bun; a number where there is no process to keep alive.
    if (typeof id === "object") id.unref?.();
    this.#realTimer = id as ReturnType<typeof setTimeout>;
  }

  #fire(): void {
    this.#clearRealTimer();
    const { monotonic: now, wall } = this.#now();
    // Leases by the wall clock as well: after the machine was suspended, a holder is notified within MAX_REAL_DELAY_MS.
    const due: PooledTimer[] = [];
    for (const timer of this.#timers) if (timer.dueAt <= now || timer.dueAtWall <= wall) due.push(timer);
    // One by one: what one of them runs may cancel another.
    for (const timer of due.sort((a, b) => a.dueAt - b.dueAt)) if (this.#timers.delete(timer)) timer.run();
    let next = Infinity;
    for (const timer of this.#timers) next = Math.min(next, this.#runAt(timer, now));
    if (this.#timers.size > 0) this.#setRealTimer(next);
  }

  #clearRealTimer(): void {
    clearTimeout(this.#realTimer);
    this.#realTimer = undefined;
    this.#firesAt = Infinity;
  }
}

class PooledTimer implements Timer {
  readonly #pool: TimerPool;
  readonly dueAt: number;
  readonly latestAt: number;
  /** When a lease's timer is due by the wall clock: a millisecond later, as that clock counts whole milliseconds. */
  readonly dueAtWall: number;
  readonly run: () => void;

  constructor(pool: TimerPool, from: Instant, ms: number, latest: number | undefined, run: () => void) {
    this.#pool = pool;
    this.dueAt = from.monotonic + ms;
    this.latestAt = from.monotonic + Math.max(ms, latest ?? ms);
    this.dueAtWall = latest === undefined ? Infinity : from.wall + ms + 1;
    this.run = run;
  }

  cancel(): void {
    this.#pool.remove(this);
  }
}

/** Resolves in `ms` milliseconds, or as soon as the signal aborts. Keeps the process alive until then. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(id);
      remove?.();
      resolve();
    };
    const id = setTimeout(done, ms);
    const remove = signal && onAbort(signal, done);
  });
}
