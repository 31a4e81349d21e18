import { MAX_DELAY_MS } from "../time/clock.ts";

/**
 * Throws a `TypeError` if an option is unknown; `advice` names its replacement. Returns the options.
 *
 * @example
 * ```ts
 * import { checkKeys } from "@holdfast/lock/authors";
 *
 * const { table = "locks" } = checkKeys<{ table?: string }>({ table: "jobs" }, ["table"]);
 * console.log(table); // jobs
 * ```
 */
export function checkKeys<T extends object>(
  options: T,
  known: readonly string[],
  advice: (key: string) => string = () => "",
): T {
  // A signal in the place of the options would otherwise be taken for options without one.
  if (Object.prototype.toString.call(options) !== "[object Object]") {
    throw new TypeError(`options must be an object: got ${show(options)}`);
  }
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) {
      throw new TypeError(`unknown option ${show(key)}: ${advice(key)}known are ${known.join(", ")}`);
    }
  }
  return options;
}

/** Throws a `TypeError` unless `observer` is a function or `undefined`. */
export function checkObserver(observer: unknown): void {
  if (observer !== undefined && typeof observer !== "function") {
    throw new TypeError(`observer must be a function: got ${show(observer)}`);
  }
}

/**
 * Throws unless the value of an option is a number of milliseconds from `least` to 2^31 - 1, the longest timer.
 *
 * @example
 * ```ts
 * import { checkMilliseconds } from "@holdfast/lock/authors";
 *
 * checkMilliseconds("pollEvery", 500, 10);
 * ```
 */
export function checkMilliseconds(option: string, value: number, least: number): void {
  if (typeof value !== "number") {
    throw new TypeError(`${option} must be a number of milliseconds: got ${show(value)}`);
  }
  // Written so that NaN fails too.
  if (!(value >= least && value <= MAX_DELAY_MS)) {
    throw new RangeError(`${option} must be from ${least} to ${MAX_DELAY_MS} ms: got ${value}`);
  }
}

/**
 * Returns a value as an error message quotes it: a text in quotation marks, cut after 80 characters.
 *
 * @example
 * ```ts
 * import { show } from "@holdfast/lock/authors";
 *
 * console.log(`table must be a string: got ${show(7)}`); // table must be a string: got 7
 * ```
 */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 80 ? `${value.slice(0, 77)}...` : value);
  if (typeof value === "object" && value !== null) return Object.prototype.toString.call(value);
  // Of a function the first line: it may be long.
  return String(value).replace(/\n[^]*/, "...");
}
