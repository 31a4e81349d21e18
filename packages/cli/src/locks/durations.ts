import { MAX_DELAY_MS } from "../time/clock.ts";
import { UsageError } from "../command.ts";
import { shown } from "../terminal/shown.ts";

/** The units of a duration, in milliseconds. */
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Returns the value of an option in milliseconds. The text is a number of milliseconds, or a number with a unit, such
 * as `500ms`, `1.5s`, `2m` or `1h`.
 *
 * @throws {UsageError} naming the option and its value, unless it is a duration from `least` to 2³¹ − 1 ms
 */
export function parseDuration(option: string, text: string, least = 0): number {
  const [, number, unit = "ms"] = /^(\d+(?:\.\d+)?)(ms|[smhd])?$/.exec(text) ?? [];
  if (number === undefined) {
    throw new UsageError(
      `--${option} must be in milliseconds or have a unit, such as 500ms, 5s, 2m, 1h: got ${shown(text)}`,
    );
  }
  const ms = Number(number) * UNITS[unit]!;
  if (ms < least || ms > MAX_DELAY_MS) {
    throw new UsageError(`--${option} must be from ${least} ms to ${MAX_DELAY_MS} ms: got ${shown(text)}`);
  }
  return ms;
}
