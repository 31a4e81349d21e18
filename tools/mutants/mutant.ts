/** A change of one place of a source file, after which a test should fail. */
export interface Mutant {
  /** The file, from the root of the repository. */
  readonly path: string;
  /** Where the text that is replaced begins and ends, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  /** The line of that, from 1. */
  readonly line: number;
  /** What kind of change it is. */
  readonly operator: string;
  /**
   * What names the mutant in reports and lists: the file, the function, and the text before and after. It stays the
   * same while other lines of the file change.
   */
  readonly key: string;
}

/** A change that was found, before it has a name. */
export interface Change {
  readonly operator: string;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

/** Returns the text of a file with the change made. */
export function applied(text: string, { start, end, replacement }: Change): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

/** Returns a function that tells equal keys apart, by numbers from the second one on. */
export function numbering(): (key: string) => string {
  const times = new Map<string, number>();
  return (key) => {
    const count = (times.get(key) ?? 0) + 1;
    times.set(key, count);
    return count === 1 ? key : `${key} (${count})`;
  };
}
