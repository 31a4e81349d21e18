import { LockTimeoutError, type Store } from "@holdfast/lock";
import { reason } from "@holdfast/lock/authors";

/** Makes the error for a lock that another owner held when the store last answered. */
export function timeoutError(store: Store, what: string, fault?: unknown): LockTimeoutError {
  if (fault === undefined) return new LockTimeoutError(`${what}: held by another owner`);
  const since = `${what}: held by another owner when the store last answered, since then: ${reason(fault)}`;
  return new LockTimeoutError(since, { cause: store.connectionError ?? fault });
}
