import type { Clock, Timer } from "./_clock.ts";

/**
 * What ends a wait from outside: the caller's signal, or the time that it is willing to wait. Every step of the wait
 * is raced against it, because a client may hang for as long as its server is frozen.
 */
export class Limit {
  readonly #outside: AbortSignal | undefined;
  readonly #timer: Timer | undefined;
  /** Only when there is anything that could end the wait: most acquires are granted before it is looked at. */
  readonly #inside: AbortController | undefined;
  #leave: (() => void) | undefined;
  readonly #abort = (): void => this.#inside?.abort(this.#outside?.reason);

  /** Aborts with the reason of `signal`, or with what `late` makes after `wait` milliseconds (0 and `Infinity`: never). */
  constructor(signal: AbortSignal | undefined, wait: number, late: () => Error, clock: Clock) {
    this.#outside = signal;
    const timed = wait > 0 && wait !== Infinity;
    if (signal === undefined && !timed) return;
    const inside = this.#inside = new AbortController();
    signal?.addEventListener("abort", this.#abort);
    if (signal?.aborted) this.#abort();
    if (timed) this.#timer = clock.timer(wait, () => inside.abort(late()));
  }

  /** Whether the wait is over. */
  get reached(): boolean {
    return this.#inside?.signal.aborted ?? false;
  }

  /** Throws the reason when the wait is over. */
  check(): void {
    this.#inside?.signal.throwIfAborted();
  }

  /** Settles like the promise, or rejects when the wait is over; the promise then goes on unheard. */
  race<T>(promise: Promise<T>): Promise<T> {
    return this.#inside === undefined ? promise : unlessAborted(promise, this.#inside.signal);
  }

  /** Runs one step of the wait with a signal that aborts when the whole wait is over, or in {@linkcode tidy}. */
  async step(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.tidy();
    const step = new AbortController();
    // A reason of our own: the default is an error, whose stack takes longer to collect than the rest of a wake-up.
    const stop = () => step.abort("over");
    this.#inside?.signal.addEventListener("abort", stop);
    this.#leave = () => {
      this.#inside?.signal.removeEventListener("abort", stop);
      stop();
    };
    if (!this.reached) await run(step.signal);
  }

  /** Takes the timers and listeners of the last step away. Not part of it: what comes next is in a hurry. */
  tidy(): void {
    this.#leave?.();
    this.#leave = undefined;
  }

  /** Removes every timer and listener. */
  end(): void {
    this.tidy();
    this.#timer?.cancel();
    this.#outside?.removeEventListener("abort", this.#abort);
  }
}

/** Settles like the promise, or rejects with the signal's reason once that aborts; the promise then goes on unheard. */
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
