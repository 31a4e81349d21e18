import { QuorumError, StoreError } from "../contract/errors.ts";
import type { Store } from "../contract/store.ts";
import { DENIED_LOOKUP, reason } from "./reason.ts";

/** The longest quote of an answer outside the protocol, in characters. */
const LONGEST_LINE = 200;

/** Yields an error and its causes: in Node the cause of a failed `fetch` has the reason. */
export function causesOf(error: unknown): unknown[] {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? [error] : [error, ...causesOf(cause)];
}

/** Returns whether Deno was not permitted to reach the server. */
export function isDenied(error: unknown): boolean {
  return causesOf(error).some((each) =>
    each instanceof Error && (each.name === "NotCapable" || DENIED_LOOKUP.test(each.message))
  );
}

/**
 * Returns whether the server may have executed the request although the answer is not part of the protocol: a proxy may
 * have answered in its place, or the answer was cut.
 */
export function mayBeDone(status: number, text: string): boolean {
  return status >= 500 || status === 408 || status === 429 || status < 300 && isCut(text);
}

/** Returns whether a text may be the beginning of an object in JSON. */
function isCut(text: string): boolean {
  const begun = text.trimStart();
  if (begun !== "" && !begun.startsWith("{")) return false;
  try {
    JSON.parse(text);
    return false;
  } catch {
    return true;
  }
}

/** Returns the first line of an answer, for quoting: an answer may be a whole page. */
export function firstLine(text: string): string {
  const [line = ""] = text.trim().split("\n");
  return line.slice(0, LONGEST_LINE);
}

/**
 * Returns whether a retry is of no use: the error is permanent, an argument is bad, or the runtime permits no
 * connection.
 *
 * @example
 * ```ts
 * import { StoreError } from "@holdfast/lock";
 * import { isPermanent } from "@holdfast/lock/authors";
 *
 * console.log(isPermanent(new StoreError("the server is busy"))); // false
 * console.log(isPermanent(new TypeError("the name must be a string"))); // true
 * ```
 */
export function isPermanent(error: unknown): boolean {
  if (error instanceof StoreError) return error.permanent;
  return error instanceof TypeError || error instanceof RangeError || isDenied(error);
}

/**
 * Creates the error for an operation that the store failed. Without a `fault` the store did not answer. When the store
 * cannot be reached, message and cause say why, because a call that waits for the connection cannot tell.
 *
 * @example
 * ```ts
 * import { storeError } from "@holdfast/lock/authors";
 * import { memory } from "@holdfast/lock/memory";
 *
 * const error = storeError(memory(), 'Cannot list "a"', new Error("the server is gone"));
 * console.log(error.message); // Cannot list "a": the server is gone
 * ```
 */
export function storeError(store: Store, what: string, fault?: unknown): StoreError {
  const permanent = isPermanent(fault);
  if (fault instanceof QuorumError) {
    const nodes = / on \d+ of \d+ nodes/.exec(fault.message)?.[0] ?? "";
    return new QuorumError(what + nodes, fault.failures, { permanent });
  }
  const words = fault === undefined ? "the store did not answer" : reason(fault);
  const { connectionError } = store;
  const cause = connectionError ?? (fault instanceof StoreError ? fault.cause ?? fault : fault);
  const message = `${what}: ${words}${connectionWords(store, words)}`;
  return new StoreError(message, { permanent, ...cause === undefined ? {} : { cause } });
}

/** Returns why a store cannot be reached, in parentheses; "" when not known, or when `said` contains it. */
export function connectionWords({ connectionError }: Store, said = ""): string {
  if (connectionError === undefined) return "";
  const words = reason(connectionError);
  return said.includes(words) ? "" : ` (${words})`;
}
