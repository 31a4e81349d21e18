import { acquire } from "./acquire.ts";
import { show } from "../internal/validation.ts";
import { isLockLost, type LockLostError } from "../contract/errors.ts";
import type { Lock } from "./lock.ts";
import { type AcquireOptions, checkName } from "./options.ts";
import type { LockTarget } from "./target.ts";

/** Acquires a lock with default options and runs a function while it is held; see the other overload. */
export function withLock<T>(
  target: LockTarget,
  name: string,
  body: (lock: Lock) => T | PromiseLike<T>,
): Promise<T>;
/**
 * Acquires a lock, runs a function while it is held, and releases it: `acquire` and `await using` as one call, for
 * runtimes without `await using`.
 *
 * When the function throws, the call rejects with its error. If the lock was lost as well, that error gets the
 * {@linkcode LockLostError} as its `cause`, or as the cause of its last cause, so that `isLockLost(error)` is true. An
 * error that is frozen or no object is left unchanged, and so is every error with `strict: false`.
 *
 * @example
 * ```ts
 * import { withLock } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * const store = memory(); // or: new Redis(), sqlite("locks.db")
 * const sum = await withLock(store, "invoice:42", { wait: 5_000 }, async (lock) => {
 *   lock.signal.throwIfAborted(); // or hand it to fetch
 *   console.log("charging with fence", lock.fence);
 *   return await Promise.resolve(99);
 * });
 * console.log(sum); // 99
 * ```
 *
 * @param target a Redis client; an array of clients of independent servers (Redlock); or a store such as
 * `sqlite("locks.db")`
 * @param name the name of the lock, 1 to 1,024 bytes of UTF-8
 * @param options how to wait and how to hold; durations in milliseconds
 * @param body called with the lock, once it is held; it may release it early
 * @returns what the function returns, once the lock is released
 * @throws the error of the function
 * @throws {LockLostError} when the function succeeded but the lock was lost before its end, unless `strict: false`
 * @throws the errors of `acquire`; a store that cannot be reached at the end is ignored
 */
export function withLock<T>(
  target: LockTarget,
  name: string,
  options: AcquireOptions | undefined,
  body: (lock: Lock) => T | PromiseLike<T>,
): Promise<T>;
export async function withLock<T>(target: LockTarget, name: string, ...rest: unknown[]): Promise<T> {
  checkName(name);
  const [options, body] = rest.length < 2 ? [undefined, rest[0]] : rest;
  if (typeof body !== "function") throw new TypeError(`body must be a function: got ${show(body)}`);
  const lock = await acquire(target, name, options as AcquireOptions | undefined);
  let result: T;
  try {
    result = await body(lock);
  } catch (error) {
    await lock[Symbol.asyncDispose]().catch((lost: LockLostError) => blame(error, lost));
    throw error;
  }
  await lock[Symbol.asyncDispose]();
  return result;
}

/** Makes the loss of the lock the cause at the end of an error's chain of causes, unless it is there already. */
function blame(error: unknown, lost: LockLostError): void {
  if (isLockLost(error)) return;
  const seen = new Set<object>();
  let last = error;
  while (typeof last === "object" && last !== null && !seen.has(last)) {
    seen.add(last);
    const cause: unknown = Reflect.get(last, "cause");
    if (cause === undefined) {
      // As the constructor does it; a frozen error stays as it is.
      Reflect.defineProperty(last, "cause", { value: lost, configurable: true, writable: true });
      return;
    }
    last = cause;
  }
}
