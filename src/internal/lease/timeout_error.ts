import { LockTimeoutError } from "../../errors.ts";
import type { Store } from "../../store.ts";
import { reason } from "../reason.ts";
import { isHeldHere } from "./held_leases.ts";

/** Makes the error for a lock that another handle holds, which may be one of this process. */
export function timeoutError(store: Store, name: string, what: string, fault?: unknown): LockTimeoutError {
  const hint = store.capabilities?.includes("owner") ? "; give all calls that may nest the same owner" : "";
  const holder = isHeldHere(store, name) ? `this process${hint}` : "another owner";
  if (fault === undefined) return new LockTimeoutError(`${what}: held by ${holder}`);
  const since = `${what}: held by ${holder} when the store last answered, since then: ${reason(fault)}`;
  return new LockTimeoutError(since, { cause: store.connectionError ?? fault });
}
