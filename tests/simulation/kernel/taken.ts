/**
 * How often each transition of a protocol was taken: each has to happen in the runs of a change, or it is not tested.
 */
export class Taken<T extends string> {
  readonly #all: readonly T[];
  readonly #times = new Map<T, number>();

  /** Counts transitions of a list. */
  constructor(all: readonly T[]) {
    this.#all = all;
  }

  /** Counts one. */
  take(transition: T, times = 1): void {
    this.#times.set(transition, this.times(transition) + times);
  }

  /** Counts those of another run as well. */
  add(other: Taken<T>): void {
    for (const [transition, times] of other.#times) this.take(transition, times);
  }

  /** Returns how often one was taken. */
  times(transition: T): number {
    return this.#times.get(transition) ?? 0;
  }

  /** Those that were never taken. */
  get missing(): T[] {
    return this.#all.filter((transition) => this.times(transition) === 0);
  }

  /** Returns all of them with how often they were taken, a line for each. */
  toString(): string {
    return this.#all.map((transition) => `${String(this.times(transition)).padStart(10)}  ${transition}`).join("\n");
  }
}
