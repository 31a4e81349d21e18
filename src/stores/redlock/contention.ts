import { type Clock, elapsed, type Instant } from "../../_clock.ts";

/** For how long a name counts as contended after it was busy, in milliseconds. */
const RECENT = 1_000;

/** How many names are remembered. */
const NAMES = 1_000;

/** Which names were busy a moment ago: those are asked for at their coordinators first. */
export class Contention {
  readonly #clock: Clock;
  readonly #busy = new Map<string, Instant>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes that a name is busy. */
  note(name: string): void {
    // The oldest first: a name that is noted again moves to the end.
    this.#busy.delete(name);
    for (const oldest of this.#busy.keys()) {
      if (this.#busy.size < NAMES) break;
      this.#busy.delete(oldest);
    }
    this.#busy.set(name, this.#clock.now());
  }

  /** Whether a name was busy a moment ago. */
  recent(name: string): boolean {
    const busy = this.#busy.get(name);
    return busy !== undefined && elapsed(busy, this.#clock.now()) < RECENT;
  }
}
