import { type Instant, monotonicMs } from "../../../time/clock.ts";

/** The time between two tries that shows that the process was stopped, in milliseconds. */
const STOPPED_MS = 50;

/** For how long a file has been busy at every try, without the times when this process was stopped. */
export class BusyTime {
  #busyMs = 0;
  #tried: Instant;

  constructor(now: Instant) {
    this.#tried = now;
  }

  /** Records a try that found the file busy. Returns the time since the last transaction, in milliseconds. */
  add(now: Instant): number {
    this.#busyMs += Math.min(monotonicMs(this.#tried, now), STOPPED_MS);
    this.#tried = now;
    return this.#busyMs;
  }

  /** Records a try that did not fail because of a busy file. */
  reset(now: Instant): void {
    this.#busyMs = 0;
    this.#tried = now;
  }
}
