import { base64Of } from "../../internal/base64.ts";
import { show } from "../../internal/validation.ts";

/** No byte of UTF-8 is so large. */
const BEHIND = 0xff;

/**
 * A range of keys, in the order of their bytes. etcd visits all keys of a range in order to count them, also those
 * behind the limit. So a range is about as long as what the page before took, and the next one longer if that is too
 * short. Each character of a key is a byte.
 */
export interface Range {
  readonly from: string;
  /** How many bytes its keys have in common with `from`, from the first on. */
  readonly common: number;
  /** How many values the byte behind these goes through. */
  readonly step: number;
  /** How many bytes fewer are common to the next range, if the keys that begin like this one are over. */
  readonly fewer: number;
}

/** Returns the range in which the next page begins: without a cursor, all names. */
export function rangeAt(cursor: string | undefined, prefix: string): Range {
  const start = bytesOf(prefix);
  // The prefix alone is no name.
  if (cursor === undefined) return { from: `${start}\0`, common: start.length, step: BEHIND, fewer: 1 };
  const keys = cursor.split(":");
  try {
    const [first, last] = keys.map((key) => `${atob(key)}\0`) as [string, string];
    if (keys.length === 2 && first.startsWith(start) && last.startsWith(start)) {
      let common = start.length;
      while (common < last.length - 1 && first[common] === last[common]) common++;
      const step = last.charCodeAt(common) - first.charCodeAt(common);
      // Twice, so that one request is mostly enough.
      return { from: last, common, step: step > 0 ? 2 * step : 1, fewer: 1 };
    }
  } catch {
    // It is no base64.
  }
  throw new RangeError(`cursor must be one that query() has returned: got ${show(cursor)}`);
}

/** Returns the first key behind a range. */
export function endOf({ from, common, step }: Range): string {
  return from.slice(0, common) + String.fromCharCode(Math.min(from.charCodeAt(common) + step, BEHIND));
}

/** Returns the range behind a range, which is longer; `undefined` behind the last name. */
export function rangeBehind(range: Range, prefix: string): Range | undefined {
  const { common, step, fewer } = range;
  const [from, least] = [endOf(range), bytesOf(prefix).length];
  if (from.charCodeAt(common) < BEHIND) return { from, common, step: 4 * step, fewer };
  return common === least ? undefined : { from, common: Math.max(least, common - fewer), step: 1, fewer: 2 * fewer };
}

/** Returns the cursor behind a page of keys, which are in base64. */
export function cursorBehind(keys: readonly string[]): string {
  return `${keys[0]}:${keys.at(-1)}`;
}

function bytesOf(text: string): string {
  return atob(base64Of(text));
}
