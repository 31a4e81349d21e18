import { unlessAborted } from "../_limit.ts";
import { isLockLost, type LockLostError } from "../errors.ts";
import type { Lock } from "../lock.ts";

/**
 * Runs a function while a lock is held, and settles as it does, once the lock is released. Rejects with an `AbortError`
 * as soon as the lock is lost: what the function gives after that, nobody waits for.
 */
export async function runHeld<T>(lock: Lock, run: () => T): Promise<Awaited<T>> {
  const { signal } = lock;
  // So written, it runs at once, and what it throws is a rejection.
  const result = new Promise<T>((resolve) => resolve(run())) as Promise<Awaited<T>>;
  let settled = false;
  const settle = () => {
    settled = true;
  };
  await unlessAborted(result.then(settle, settle), signal).catch(() => {});
  try {
    await lock[Symbol.asyncDispose]();
  } catch (error) {
    // It failed while it still believed in the lock: that says more than the loss, which the release has found out.
    if (settled) await result.catch((own) => isLockLost(own) || Promise.reject(own));
    throw aborted(error as LockLostError);
  }
  return await result;
}

/** What the specification gives to a holder that is stolen from. */
function aborted(lost: LockLostError): DOMException {
  // Not by the constructor: hardly any runtime takes a cause there.
  return Object.defineProperty(new DOMException(lost.message, "AbortError"), "cause", { value: lost });
}
