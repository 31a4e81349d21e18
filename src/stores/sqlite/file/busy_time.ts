import { elapsed, type Instant } from "../../../internal/time/clock.ts";

/** After a longer time between two tries the process was stopped meanwhile, in milliseconds. */
const STOPPED_MS = 50;

/** For how long a file has been busy at every try, without the times in which this process was stopped. */
export class BusyTime {
  #busyMs = 0;
  #tried: Instant;

  /** Creates a count of zero. */
  constructor(now: Instant) {
    this.#tried = now;
  }

  /** Notes a try that found the file busy. Returns the time since the last transaction, in milliseconds. */
  add(now: Instant): number {
    this.#busyMs += Math.min(elapsed(this.#tried, now), STOPPED_MS);
    this.#tried = now;
    return this.#busyMs;
  }

  /** Notes a try that was no failure for being busy. */
  reset(now: Instant): void {
    this.#busyMs = 0;
    this.#tried = now;
  }
}
