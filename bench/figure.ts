/** A number with its unit, such as 0.21 and "ms"; the unit of a plain number is empty. */
export interface Quantity {
  readonly value: number;
  readonly unit: string;
}

/** What is to be reached: at least or at most so much. */
export interface Target {
  readonly bound: "at least" | "at most";
  readonly value: number;
}

/** One line of the report. */
export interface Figure {
  readonly what: string;
  readonly ours: Quantity;
  /** What it is compared with, measured in the same run. */
  readonly reference?: Quantity & { readonly name: string };
  /** The comparison. */
  readonly ratio?: number;
  /** What the ratio or, where there is none, our own value is to reach; figures without one are for information. */
  readonly target?: Target;
  /** The samples behind it, summed up. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Returns whether the target is reached; `undefined` when there is none. */
export function met({ ours, ratio, target }: Figure): boolean | undefined {
  if (target === undefined) return undefined;
  const value = ratio ?? ours.value;
  return target.bound === "at least" ? value >= target.value : value <= target.value;
}
