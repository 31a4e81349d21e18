import { type Clock, elapsed, type Instant } from "../../_clock.ts";

/** For how long a name counts as contended after it was busy, in milliseconds. */
const RECENT = 1_000;

/** How many names are remembered. */
const NAMES = 1_000;

/** Which names are probably busy: those are asked for at their coordinators first. */
export class Contention {
  readonly #clock: Clock;
  /** How many handles of this store hold each name or ask for it. */
  readonly #present = new Map<string, number>();
  /** When each name was busy last. */
  readonly #busy = new Map<string, Instant>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Somebody asks for a name from now on, and may hold it after that. */
  enter(name: string): void {
    this.#present.set(name, (this.#present.get(name) ?? 0) + 1);
  }

  /** Somebody does so no longer. */
  leave(name: string): void {
    const others = this.#present.get(name)! - 1;
    if (others > 0) this.#present.set(name, others);
    else this.#present.delete(name);
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

  /** Whether a name is probably busy: it was a moment ago, or somebody who uses this store is at it. */
  expected(name: string): boolean {
    if (this.#present.has(name)) return true;
    const busy = this.#busy.get(name);
    return busy !== undefined && elapsed(busy, this.#clock.now()) < RECENT;
  }
}
