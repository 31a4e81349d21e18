/** A part of the time, in milliseconds. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The times in which faults have effects. */
export class FaultTimes {
  /** Apart from each other, in order. */
  readonly #spans: Span[] = [];

  /** Joins causes, each of which may have effects for so many milliseconds after its end. */
  constructor(causes: readonly Span[], aftermath: number) {
    for (const { start, end } of causes.toSorted((a, b) => a.start - b.start)) {
      const last = this.#spans.at(-1);
      if (last === undefined || start > last.end) this.#spans.push({ start, end: end + aftermath });
      else if (end + aftermath > last.end) this.#spans[this.#spans.length - 1] = { ...last, end: end + aftermath };
    }
  }

  /** Returns how much of a time no fault explains, in milliseconds. */
  quiet(from: number, to: number): number {
    return this.free({ start: from, end: to }).reduce((sum, { start, end }) => sum + end - start, 0);
  }

  /** Returns the parts of a time that no fault explains. */
  free(span: Span): Span[] {
    const left: Span[] = [];
    let from = span.start;
    for (const { start, end } of this.#spans) {
      if (start >= span.end) break;
      if (end <= from) continue;
      if (start > from) left.push({ start: from, end: start });
      from = Math.max(from, end);
    }
    if (from < span.end) left.push({ start: from, end: span.end });
    return left;
  }
}
