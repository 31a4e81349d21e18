import { show } from "../internal/validation.ts";
import type { Kind } from "../contract/store.ts";

/** Returns the error for a field with a wrong value. */
export function wrong(field: string, value: unknown): Error {
  return new Error(`its ${field} is ${show(value)}`);
}

/** Returns a number from 0 to `most`. Above the default, the next number would not differ from it. */
export function numberIn(field: string, value: unknown, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === "number" && value >= 0 && value <= most) return value;
  throw wrong(field, value);
}

/** Returns a moment of a clock. */
export function momentIn(field: string, value: unknown): number {
  if (Number.isFinite(value)) return value as number;
  throw wrong(field, value);
}

/** Returns a text. */
export function textIn(field: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw wrong(field, value);
}

/** Returns a text, or `undefined` if the field is left out. */
export function optionalTextIn(field: string, value: unknown): string | undefined {
  return value === undefined ? undefined : textIn(field, value);
}

/** Returns a fence, which must not be above the last issued fence. */
export function fenceIn(value: unknown, last?: bigint): bigint {
  if (typeof value === "string" && /^\d+$/.test(value)) {
    const fence = BigInt(value);
    if (last === undefined || fence <= last) return fence;
  }
  throw wrong("fence", value);
}

/** Returns the kind of a claim. */
export function kindIn(value: unknown): Kind {
  if (value === "exclusive" || value === "shared" || Number.isSafeInteger(value) && (value as number) > 0) {
    return value as Kind;
  }
  throw wrong("kind", value);
}
