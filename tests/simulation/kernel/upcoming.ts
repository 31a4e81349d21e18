/** Something that happens at a time: of several at one time first the one with the smallest number. */
export interface Due {
  readonly at: number;
  readonly number: number;
}

/** What is to happen, in its order. */
export class Upcoming<D extends Due> {
  /** The next one last. */
  readonly #all: D[] = [];

  /** What happens next. */
  get next(): D | undefined {
    return this.#all.at(-1);
  }

  /** Removes what happens next, and returns it. */
  take(): D | undefined {
    return this.#all.pop();
  }

  add(due: D): void {
    const all = this.#all;
    let low = 0;
    for (let high = all.length; low < high;) {
      const middle = (low + high) >> 1;
      const { at, number } = all[middle]!;
      if (at > due.at || at === due.at && number > due.number) low = middle + 1;
      else high = middle;
    }
    all.splice(low, 0, due);
  }
}
