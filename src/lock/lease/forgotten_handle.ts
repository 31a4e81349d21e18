import { warnOnce } from "../../internal/process/warning.ts";

/**
 * Checks whether the handle of a lease is garbage, so that nobody can release the lock, and warns of it once. Takes the
 * handle or a weak reference to it. Returns a weak reference for the next check; `undefined` after the warning. The
 * lock is still renewed: code may rely on it until the process ends.
 */
export function checkHandle(handle: object | undefined, name: string): object | undefined {
  if (handle === undefined || typeof WeakRef === "undefined") return undefined;
  // Only now: most locks are released before the first check, and a WeakRef takes longer to make than all the rest.
  if (!(handle instanceof WeakRef)) return new WeakRef(handle);
  if (handle.deref() !== undefined) return handle;
  warnOnce(
    "forgotten",
    `Lock "${name}" was never released, and its handle is garbage: it is held until this process ends. ` +
      `Hold locks with "await using", or release them`,
  );
  return undefined;
}
