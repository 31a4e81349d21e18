import { unlessAborted } from "../time/wait_scope.ts";
import { isLockLost, type LockLostError } from "../contract/errors.ts";
import type { Lock } from "../lock/lock.ts";

/**
 * Runs a function while a lock is held, and settles as it does, once the lock is released. Rejects with an `AbortError`
 * as soon as the lock is lost, without waiting for the function.
 */
export async function runHeld<T>(lock: Lock, run: () => T): Promise<Awaited<T>> {
  const { signal } = lock;
  // The function runs at once, and an error that it throws is a rejection.
  const result = new Promise<T>((resolve) => resolve(run())) as Promise<Awaited<T>>;
  let settled = false;
  const settle = () => {
    settled = true;
  };
  // It rejects when the lock is lost, which the release finds out as well.
  await unlessAborted(result.then(settle, settle), signal).catch(() => {});
  try {
    await lock[Symbol.asyncDispose]();
  } catch (error) {
    // The function failed before the release found out that the lock is lost: its own error says more than the loss.
    if (settled) await result.catch((own) => isLockLost(own) || Promise.reject(own));
    throw aborted(error as LockLostError);
  }
  return await result;
}

/** Returns the error that the specification gives to a holder whose lock is stolen. */
function aborted(lost: LockLostError): DOMException {
  // Hardly any runtime takes a cause in the constructor.
  return Object.defineProperty(new DOMException(lost.message, "AbortError"), "cause", { value: lost });
}
