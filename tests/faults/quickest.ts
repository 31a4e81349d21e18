import { type Clock, elapsed, SystemClock, type Timer } from "../../src/time/clock.ts";

/** How often something may be slow because the machine is: what is slow by itself is slow every time. */
const TRIES = 5;

/**
 * Runs something until it takes no longer than the limit, in milliseconds, as it says itself; rejects when it never
 * does. For upper bounds on a machine that may have other things to do at any moment.
 */
export async function quickest(limit: number, run: (attempt: number) => Promise<number>): Promise<void> {
  const times: number[] = [];
  while (times.length < TRIES) {
    const ms = await run(times.length);
    if (ms <= limit) return;
    times.push(ms);
  }
  throw new Error(`took longer than ${limit} ms each time: ${times.map((ms) => ms.toFixed(0)).join(", ")} ms`);
}

/** How often a process looks whether it is late, and from how much on that counts, in milliseconds. */
const [BEAT, LATE] = [10, 5];

/**
 * How long this process had something to do and did not run, because the machine is busy: no store counts that time.
 */
export class Lateness implements Disposable {
  /** So far, in milliseconds. */
  ms = 0;
  readonly #clock: Clock;
  #timer: Timer;

  /** Begins to measure. */
  constructor(clock: Clock = new SystemClock()) {
    this.#clock = clock;
    this.#timer = this.#beat();
  }

  #beat(): Timer {
    const from = this.#clock.now();
    return this.#clock.timer(BEAT, () => {
      const late = elapsed(from, this.#clock.now()) - BEAT;
      if (late > LATE) this.ms += late;
      this.#timer = this.#beat();
    }, from);
  }

  [Symbol.dispose](): void {
    this.#timer.cancel();
  }
}
