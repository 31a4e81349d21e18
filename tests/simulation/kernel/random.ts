/** Random numbers that a seed determines, on every machine alike (mulberry32, by Tommy Ettinger). */
export class Random {
  #state: number;

  constructor(seed: number) {
    // Seeds that follow each other must not give sequences that resemble each other.
    this.#state = Math.imul(seed ^ (seed >>> 16) ^ 0x9e3779b9, 0x85ebca6b) | 0;
    for (let skipped = 0; skipped < 4; skipped++) this.next();
  }

  /** From 0 to just under 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.next();
  }

  /** Returns a whole number, the bounds included. */
  integer(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.integer(0, list.length - 1)]!;
  }

  /** Mostly near the low end, sometimes up to the high one: each order of magnitude is as likely as another. */
  spread(low: number, high: number): number {
    return low * (high / low) ** this.next();
  }

  /** Returns another sequence, so that the draws of one part of a run do not change those of another. */
  fork(): Random {
    return new Random(this.integer(0, 2 ** 32 - 1));
  }
}
