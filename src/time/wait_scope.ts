import type { Clock, Timer } from "./clock.ts";

/** The reason that a race rejects with when the wait is over. */
const OVER = Symbol("over");

/** The reason that a race rejects with when it is abandoned because no answer came. */
export const UNANSWERED: unique symbol = Symbol("unanswered");

/** The reason of a step's signal once the time of the wait is over: a wait inside the step ends for the same reason. */
class TimeOver {
  /** Makes the error for it. */
  readonly late: () => Error;

  /** Notes who makes the error. */
  constructor(late: () => Error) {
    this.late = late;
  }
}

/**
 * The limits of a wait: the caller's signal, and the time that it is willing to wait. Every step of the wait is raced
 * against them, one at a time, because a client may hang for as long as its server is frozen.
 *
 * Errors are made by {@linkcode reason}, not by the timer, so that their stack shows who waited.
 */
export class WaitScope {
  readonly #signal: AbortSignal | undefined;
  #late: () => Error;
  readonly #timer: Timer | undefined;
  readonly #abort: (() => void) | undefined;
  #reached: "signal" | "time" | undefined;
  #reject: ((reason: unknown) => void) | undefined;
  #step: AbortController | undefined;

  /** Begins a wait. It ends with `signal`, or after `wait` milliseconds (0, `Infinity`: never) with the error of `late`. */
  constructor(signal: AbortSignal | undefined, wait: number, late: () => Error, clock: Clock) {
    this.#signal = signal;
    this.#late = late;
    if (signal !== undefined) {
      this.#abort = () => this.#aborted(signal.reason);
      signal.addEventListener("abort", this.#abort);
      if (signal.aborted) this.#aborted(signal.reason);
    }
    if (wait > 0 && wait !== Infinity) this.#timer = clock.timer(wait, () => this.#reach("time"));
  }

  /** Whether the wait is over. */
  get reached(): boolean {
    return this.#reached !== undefined;
  }

  /** The reason why the wait ended: its signal, or its time or that of the wait around it. `undefined` while it goes on. */
  get endedBy(): "signal" | "time" | undefined {
    return this.#reached;
  }

  /** Makes the error for a wait that is over, or returns the reason of its signal. */
  reason(): unknown {
    if (this.#reached === "signal") return this.#signal?.reason;
    const error = this.#late();
    // The frames of those who make it would leave no room for those who wait: most runtimes keep ten.
    Error.captureStackTrace?.(error, this.reason);
    return error;
  }

  /** Throws the reason when the wait is over. */
  check(): void {
    if (this.reached) throw this.reason();
  }

  /**
   * Settles like the promise, or rejects when the wait is over or the race is abandoned. What becomes of the promise then
   * is ignored. Look at {@linkcode reached} when it rejects.
   */
  race<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      promise.then(resolve, reject);
      if (this.#reached !== undefined) reject(OVER);
    });
  }

  /** Abandons the race that goes on, which rejects with {@linkcode UNANSWERED}, but not the wait. */
  abandon(): void {
    this.#reject?.(UNANSWERED);
  }

  /**
   * Runs one step of the wait with a signal that aborts when the whole wait is over, or in {@linkcode tidy}. A wait with
   * that signal, inside the step, knows whether the time of the whole wait is over, or its signal has aborted.
   */
  async step(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.tidy();
    const step = this.#step = new AbortController();
    if (this.#reached === undefined) await run(step.signal);
  }

  /** Removes the timers and listeners of the last step. Not done by the step itself: the next attempt goes first. */
  tidy(): void {
    // An explicit reason: the default is an error, whose stack takes longer to collect than the rest of a wake-up.
    this.#step?.abort("over");
    this.#step = undefined;
  }

  /** Removes every timer and listener. */
  end(): void {
    this.tidy();
    this.#timer?.cancel();
    if (this.#abort !== undefined) this.#signal?.removeEventListener("abort", this.#abort);
  }

  #aborted(reason: unknown): void {
    if (reason instanceof TimeOver && !this.reached) this.#late = reason.late;
    this.#reach(reason instanceof TimeOver ? "time" : "signal");
  }

  #reach(end: "signal" | "time"): void {
    this.#reached ??= end;
    this.#reject?.(OVER);
    this.#step?.abort(this.#reached === "time" ? new TimeOver(this.#late) : this.#signal?.reason);
  }
}

/**
 * Settles like the promise, or rejects with the signal's reason once that aborts. What becomes of the promise then is
 * ignored.
 */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => stop = () => reject(signal.reason));
  signal.addEventListener("abort", stop);
  try {
    if (signal.aborted) stop();
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
