import { setImmediate } from "node:timers/promises";
import type { Clock, Instant, Timer } from "../../src/time/clock.ts";
import { sleep } from "./sleep.ts";

interface PendingTimer {
  readonly due: number;
  readonly run: () => void;
}

/** A clock that stands still until a test moves it. Its timers use the monotonic clock alone. */
export class VirtualClock implements Clock {
  #monotonic = 1_000;
  #wall = 1_700_000_000_000;
  readonly #timers = new Set<PendingTimer>();

  now(): Instant {
    return { monotonic: this.#monotonic, wall: this.#wall };
  }

  /** The timers and sleeps that have neither run nor been cancelled. */
  get pending(): number {
    return this.#timers.size;
  }

  timer(ms: number, run: () => void, from: Instant = this.now()): Timer {
    // Real timers take whole milliseconds too, and a loop of timers that move no clock would never end.
    const timer = { due: from.monotonic + Math.max(0, Math.ceil(ms)), run };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleep(this, ms, signal);
  }

  /** Moves both clocks on, and runs what falls due on the way at its own moment, one after the other. */
  async advance(ms: number): Promise<void> {
    const until = this.#monotonic + ms;
    await settled();
    for (let timer = this.#next(until); timer !== undefined; timer = this.#next(until)) {
      this.stall(Math.max(0, timer.due - this.#monotonic));
      this.#timers.delete(timer);
      timer.run();
      await settled();
    }
    // What ran on the way may have stalled the clock past the end.
    this.stall(Math.max(0, until - this.#monotonic));
  }

  /** Moves both clocks on while nothing runs, as in a process that is stopped: timers run late, with `advance`. */
  stall(ms: number): void {
    this.#monotonic += ms;
    this.#wall += ms;
  }

  /** Sets the wall clock, forward or back. That is also how a suspended machine wakes up. */
  setWall(by: number): void {
    this.#wall += by;
  }

  #next(until: number): PendingTimer | undefined {
    let next: PendingTimer | undefined;
    for (const timer of this.#timers) {
      if (timer.due <= until && (next === undefined || timer.due < next.due)) next = timer;
    }
    return next;
  }
}

/** Resolves when all that waits for nothing but promises has run. */
export async function settled(): Promise<void> {
  await setImmediate();
}
