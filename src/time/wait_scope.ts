import { onAbort } from "./aborted.ts";
import type { Clock, Timer } from "./clock.ts";

/** The reason that a race rejects with when the wait is over. */
export const OVER: unique symbol = Symbol("over");

/** The reason that a race rejects with when it is abandoned because no answer came. */
export const UNANSWERED: unique symbol = Symbol("unanswered");

/** How long a failed call may take to release what its attempts may have taken, in milliseconds. */
const UNDO_LIMIT_MS = 1_000;

/** The reason of a step's signal when the time of the wait is over: a wait inside the step ends for the same reason. */
class TimeOver {
  /** Creates the error for the end of the time. */
  readonly late: () => Error;

  constructor(late: () => Error) {
    this.late = late;
  }
}

/**
 * The limits of a wait: the caller's signal and time. Every step of the wait is raced against them, one at a time,
 * because a client may hang for as long as its server is frozen.
 *
 * {@linkcode reason} makes the errors, not the timer, so that their stack shows the caller.
 */
export class WaitScope {
  readonly #signal: AbortSignal | undefined;
  #late: () => Error;
  readonly #clock: Clock;
  readonly #timer: Timer | undefined;
  readonly #removeAbort: (() => void) | undefined;
  #reached: "signal" | "time" | undefined;
  #reject: ((reason: unknown) => void) | undefined;
  #outlasts: (() => boolean) | undefined;
  #step: AbortController | undefined;

  /**
   * Begins a wait. It ends with `signal`, or after `wait` milliseconds (0, `Infinity`: never) with the error of `late`.
   */
  constructor(signal: AbortSignal | undefined, wait: number, late: () => Error, clock: Clock) {
    this.#signal = signal;
    this.#late = late;
    this.#clock = clock;
    if (signal !== undefined) {
      this.#removeAbort = onAbort(signal, () => this.#aborted(signal.reason));
      if (signal.aborted) this.#aborted(signal.reason);
    }
    if (wait > 0 && wait !== Infinity) this.#timer = clock.timer(wait, () => this.#reach("time"));
  }

  /** Why the wait ended: its signal, or the time, its own or of the wait around it. `undefined` while it goes on. */
  get reached(): "signal" | "time" | undefined {
    return this.#reached;
  }

  /** Creates the error for a wait that is over, or returns the reason of its signal. */
  reason(): unknown {
    if (this.#reached === "signal") return this.#signal?.reason;
    const error = this.#late();
    // The frames of those who make it would leave no room for those who wait: most runtimes keep ten.
    Error.captureStackTrace?.(error, this.reason);
    return error;
  }

  check(): void {
    if (this.reached) throw this.reason();
  }

  /**
   * Settles like the promise, or rejects with {@linkcode OVER} when the wait is over, or when the race is abandoned.
   * A later outcome of the promise is ignored.
   *
   * @param outlasts called when the time is over: whether only the signal ends this race; the time then ends the next
   */
  race<T>(promise: Promise<T>, outlasts?: () => boolean): Promise<T> {
    this.#outlasts = outlasts;
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      promise.then(resolve, reject);
      if (this.#reached !== undefined) this.#reach(this.#reached);
    });
  }

  /**
   * Waits for the release of a lock that the call may have taken, so that no caller finds the lock held after the call
   * has rejected. Waits at most a second, as the store may hang. The signal ends the wait sooner, and so does the time
   * unless it is outlasted. Never rejects.
   */
  async undo(released: Promise<unknown>, outlasts: () => boolean): Promise<void> {
    if (this.#reached === "signal" || this.#reached === "time" && !outlasts()) return;
    const limit = this.#clock.timer(UNDO_LIMIT_MS, () => this.abandon());
    // What cannot be released ends with its lease; the call has an error of its own.
    await this.race(released, outlasts).catch(() => {});
    limit.cancel();
  }

  /** Abandons the present race, which rejects with {@linkcode UNANSWERED}; the wait goes on. */
  abandon(): void {
    this.#reject?.(UNANSWERED);
  }

  /**
   * Runs one step of the wait with a signal that aborts when the whole wait is over, or in {@linkcode tidy}. A wait
   * with that signal, inside the step, knows whether the time of the whole wait is over, or its signal has aborted.
   */
  async step(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.tidy();
    const step = this.#step = new AbortController();
    if (this.#reached === undefined) await run(step.signal);
  }

  /**
   * Removes the timers and listeners of the last step. The step does not do this itself: the next attempt goes first.
   */
  tidy(): void {
    // An explicit reason: the default is an error, whose stack takes longer to collect than the rest of a wake-up.
    this.#step?.abort("over");
    this.#step = undefined;
  }

  /** Removes every timer and listener. */
  end(): void {
    this.tidy();
    this.#timer?.cancel();
    this.#removeAbort?.();
  }

  #aborted(reason: unknown): void {
    if (reason instanceof TimeOver && !this.reached) this.#late = reason.late;
    this.#reach(reason instanceof TimeOver ? "time" : "signal");
  }

  #reach(end: "signal" | "time"): void {
    const outlasted = this.#outlasts?.() === true;
    if (outlasted && end === "signal") this.#reached = end;
    this.#reached ??= end;
    if (!outlasted || end === "signal") this.#reject?.(OVER);
    this.#step?.abort(this.#reached === "time" ? new TimeOver(this.#late) : this.#signal?.reason);
  }
}

/** Settles like the promise, or rejects with the signal's reason once that aborts. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => stop = () => reject(signal.reason));
  const remove = onAbort(signal, stop);
  try {
    if (signal.aborted) stop();
    return await Promise.race([promise, aborted]);
  } finally {
    remove();
  }
}
