import { reason } from "./reason.ts";
import { QuorumError, StoreError } from "../errors.ts";
import type { Store } from "../store.ts";

/** Returns whether a retry is of no use: the store says so, or an argument is bad. */
export function isPermanent(error: unknown): boolean {
  return error instanceof StoreError ? error.permanent : error instanceof TypeError || error instanceof RangeError;
}

/**
 * Makes the error for an operation that the store failed. Without a `fault` the store did not answer. When the store
 * cannot be reached, message and cause say why: a call that waits for the connection does not know that itself.
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

/** Returns why a store cannot be reached, in parentheses; "" when that is not known, or `said` contains it. */
export function connectionWords({ connectionError }: Store, said = ""): string {
  if (connectionError === undefined) return "";
  const words = reason(connectionError);
  return said.includes(words) ? "" : ` (${words})`;
}
