import { type Instant, SystemClock } from "../../src/time/clock.ts";

/** The clock of a machine whose wall clock is so many milliseconds ahead. */
export class WrongClock extends SystemClock {
  readonly #ahead: number;

  constructor(ahead: number) {
    super();
    this.#ahead = ahead;
  }

  override now(): Instant {
    const { monotonic, wall } = super.now();
    return { monotonic, wall: wall + this.#ahead };
  }
}
