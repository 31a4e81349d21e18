import { show } from "../internal/validation.ts";
import type { Kind } from "../contract/store.ts";

export function wrong(field: string, value: unknown): Error {
  return new Error(`its ${field} is ${show(value)}`);
}

function checked<T>(field: string, value: unknown, isRight: boolean): T {
  if (isRight) return value as T;
  throw wrong(field, value);
}

/** Returns a number from 0 to `most`. Above the default, the next number would not differ from it. */
export function numberIn(field: string, value: unknown, most = Number.MAX_SAFE_INTEGER): number {
  return checked(field, value, typeof value === "number" && value >= 0 && value <= most);
}

export function momentIn(field: string, value: unknown): number {
  return checked(field, value, Number.isFinite(value));
}

export function textIn(field: string, value: unknown): string {
  return checked(field, value, typeof value === "string");
}

export function optionalTextIn(field: string, value: unknown): string | undefined {
  return value === undefined ? undefined : textIn(field, value);
}

/** Returns a fence, which must not be above the last issued fence. */
export function fenceIn(value: unknown, last?: bigint): bigint {
  const isFence = typeof value === "string" && /^\d+$/.test(value) && (last === undefined || BigInt(value) <= last);
  return BigInt(checked<string>("fence", value, isFence));
}

export function kindIn(value: unknown): Kind {
  const isSemaphore = Number.isSafeInteger(value) && (value as number) > 0;
  return checked("kind", value, isSemaphore || value === "exclusive" || value === "shared");
}
