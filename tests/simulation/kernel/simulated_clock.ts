import type { Clock, Instant, Timer } from "../../../src/time/clock.ts";
import { sleep } from "../../support/sleep.ts";

/** A clock in virtual time, which counts its timers. */
export abstract class SimulatedClock implements Clock {
  #pending = 0;

  abstract now(): Instant;

  /** Runs something in `ms` milliseconds of this clock; returns what prevents it. */
  protected abstract after(ms: number, run: () => void, from?: Instant): () => void;

  /** The timers and sleeps that have neither run nor been cancelled. */
  get pending(): number {
    return this.#pending;
  }

  timer(ms: number, run: () => void, from?: Instant): Timer {
    let open = true;
    const close = () => {
      if (open) this.#pending--;
      open = false;
    };
    this.#pending++;
    const prevent = this.after(ms, () => {
      if (!open) return;
      close();
      run();
    }, from);
    return {
      cancel: () => {
        prevent();
        close();
      },
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleep(this, ms, signal);
  }
}
