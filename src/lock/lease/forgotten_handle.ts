import { warnOnce } from "../process/warning.ts";

/**
 * Checks whether the handle of a lock is garbage, so that nobody can release the lock any more, and warns of that once.
 * Takes the handle and returns a weak reference to it, which is what the next check takes; `undefined` after the last.
 * The lock is renewed nevertheless: code may rely on it until the process ends.
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
