/** The weight of the last section in the estimate. */
const WEIGHT = 1 / 4;

/** An estimate of how long the sections of a name take at present, in milliseconds: a moving average. */
export class Sections {
  #estimate: number | undefined;

  /** Notes how long a section took. */
  add(ms: number): void {
    this.#estimate = this.#estimate === undefined ? ms : this.#estimate + (ms - this.#estimate) * WEIGHT;
  }

  /** Notes that a section, which is not over yet, takes so long at least. */
  addAtLeast(ms: number): void {
    this.#estimate = Math.max(this.#estimate ?? 0, ms);
  }

  /** Returns whether sections take so long or longer. */
  areAsLongAs(ms: number): boolean {
    return this.#estimate !== undefined && this.#estimate >= ms;
  }
}
