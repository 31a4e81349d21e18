/** A column of a table. */
export interface Column {
  readonly key: string;
  readonly title: string;
  readonly unit: string;
}

/** A line of a table: a library with settings. */
export interface Result {
  readonly id: string;
  readonly title: string;
  readonly settings: string;
  /** What was measured, by column; what is missing was not reached, and the note says why. */
  readonly values: Readonly<Record<string, number | undefined>>;
  readonly note?: string;
}

/** One table of the report. */
export interface Outcome {
  readonly row: string;
  readonly title: string;
  /** The first one decides the order of the lines. */
  readonly columns: readonly Column[];
  /** Whether much of it is good. */
  readonly best: "most" | "least";
  readonly results: readonly Result[];
}

/** The lines, the best first; those that failed or gave up come after those that did all. */
export function ranked({ columns, results, best }: Outcome): Result[] {
  const key = columns[0]!.key;
  const sign = best === "most" ? -1 : 1;
  const value = (result: Result) => result.values[key];
  const shame = (result: Result) => value(result) === undefined ? 2 : (result.values["failures"] ?? 0) > 0 ? 1 : 0;
  return results.toSorted((a, b) => shame(a) - shame(b) || sign * ((value(a) ?? 0) - (value(b) ?? 0)));
}
