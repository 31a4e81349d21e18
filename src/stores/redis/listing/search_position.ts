import { show } from "../../../internal/validation.ts";

/** Where a search goes on. */
export interface SearchPosition {
  /** The address of the master in a Cluster; empty without one. */
  readonly address: string;
  /** Which of the patterns is searched for. */
  readonly pattern: number;
  /** The cursor of SCAN. */
  readonly scan: string;
}

/** The largest cursor of SCAN, which has 64 bits. */
const MAX_SCAN = 2n ** 64n - 1n;

/** Formats a position as the cursor that callers get. */
export function encodeCursor({ pattern, scan, address }: SearchPosition): string {
  return `${pattern}:${scan}:${address}`;
}

/**
 * Reads a cursor that a caller gives.
 *
 * @throws {RangeError} unless it is one that {@linkcode encodeCursor} makes
 */
export function decodeCursor(cursor: string): SearchPosition {
  const [, pattern, scan = "", address = ""] = /^([01]):(\d{1,20}):(.*)$/s.exec(cursor) ?? [];
  if (pattern === undefined || BigInt(scan) > MAX_SCAN) {
    throw new RangeError(`cursor must be one that query() has returned: got ${show(cursor)}`);
  }
  return { pattern: Number(pattern), scan, address };
}
