/** The reason a {@linkcode LockError} was raised, as a literal to switch on. */
export type LockErrorCode = "timeout" | "lost" | "conflict" | "store" | "quorum";

/**
 * What every error of this package extends, bad arguments aside (those are `TypeError` and `RangeError`).
 *
 * @example Tell the reasons apart
 * ```ts
 * import { acquire, LockError } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * try {
 *   await using lock = await acquire(memory(), "invoice:42", { wait: 5_000 });
 * } catch (error) {
 *   if (error instanceof LockError) console.error(error.code, error.message);
 *   throw error;
 * }
 * ```
 */
export abstract class LockError extends Error {
  /** `"timeout"`, `"lost"`, `"conflict"`, `"store"` or `"quorum"`. */
  abstract readonly code: LockErrorCode;
}

/**
 * The lock was not free within `wait` milliseconds. Nothing is held, and the place in the queue is given up.
 *
 * @example
 * ```ts
 * import { acquire, LockTimeoutError } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * const store = memory();
 * await using first = await acquire(store, "report");
 * const error = await acquire(store, "report", { wait: 20 }).catch((error: unknown) => error);
 * console.log(error instanceof LockTimeoutError); // true
 * ```
 */
export class LockTimeoutError extends LockError {
  /** The name of the class. */
  override readonly name: string = "LockTimeoutError";
  /** What to switch on. */
  readonly code = "timeout";
}

/**
 * The lease ended, or may have ended, before the lock was released: somebody else can hold the lock now.
 * It is the reason of `lock.signal`, and what `release()` and, unless `strict: false`, dispose reject with.
 *
 * @example
 * ```ts
 * import { acquire, LockLostError } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * const lock = await acquire(memory(), "report", { lease: 20, renew: false });
 * await new Promise((resolve) => setTimeout(resolve, 50));
 * console.log(lock.held, lock.signal.reason instanceof LockLostError); // false true
 * ```
 */
export class LockLostError extends LockError {
  /** The name of the class. */
  override readonly name: string = "LockLostError";
  /** What to switch on. */
  readonly code = "lost";
}

/**
 * What was asked for does not go with how the lock is held: with other `permits`, or exclusively by an owner that shares
 * it and would wait for itself. Nothing was done.
 *
 * @example
 * ```ts
 * import { acquire, LockConflictError } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * const store = memory();
 * await using lock = await acquire(store, "printers", { permits: 3 });
 * const error = await acquire(store, "printers", { permits: 5 }).catch((error: unknown) => error);
 * console.log(error instanceof LockConflictError); // true
 * ```
 */
export class LockConflictError extends LockError {
  /** The name of the class. */
  override readonly name: string = "LockConflictError";
  /** What to switch on. */
  readonly code = "conflict";
}

/**
 * The store could not be reached or refused; `cause` is its own error. Whether the store did what it was asked is not
 * known; what may have been taken is given back, or ends with its lease.
 *
 * @example
 * ```ts
 * import { StoreError } from "@holdfast/lock";
 *
 * const error = new StoreError("Cannot acquire lock \"a\"", { cause: new Error("READONLY") });
 * console.log(error.code, error.cause); // store Error: READONLY
 * ```
 */
export class StoreError extends LockError {
  /** The name of the class. */
  override readonly name: string = "StoreError";
  /** What to switch on. */
  readonly code: "store" | "quorum" = "store";
}

/** How one node of a quorum failed. */
export interface NodeFailure {
  /** The place of the node in the list that was given, from 0. */
  readonly index: number;
  /** Where it is, as `host:port`, if that is known. */
  readonly address: string | undefined;
  /** Its own error, or that it did not answer in time. */
  readonly error: unknown;
}

/**
 * Too many nodes of a quorum failed for any majority.
 *
 * @example
 * ```ts
 * import { QuorumError } from "@holdfast/lock";
 *
 * const error = new QuorumError("Cannot acquire lock \"a\"", [
 *   { index: 0, address: "10.0.0.1:6379", error: new Error("no answer within 300 ms") },
 * ]);
 * console.log(error.code, error.failures[0]?.address); // quorum 10.0.0.1:6379
 * ```
 */
export class QuorumError extends StoreError {
  /** The name of the class. */
  override readonly name: string = "QuorumError";
  /** What to switch on. */
  override readonly code = "quorum";
  /** The nodes that failed. */
  readonly failures: readonly NodeFailure[];

  /** Adds what every node says to the message; the causes are all of their errors. */
  constructor(message: string, failures: readonly NodeFailure[]) {
    const each = failures.map(({ index, address, error }) => {
      return `node ${index}${address === undefined ? "" : ` (${address})`}: ${
        error instanceof Error ? error.message : error
      }`;
    });
    super(`${message}: ${each.join("; ")}`, { cause: new AggregateError(failures.map(({ error }) => error)) });
    this.failures = failures;
  }
}

/**
 * Whether an error is, or wraps, a {@linkcode LockLostError}. When the body of an `await using` scope throws and the
 * lock was lost as well, the language wraps both in a `SuppressedError`; this looks inside it, and along `cause`.
 *
 * @example
 * ```ts
 * import { acquire, isLockLost } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * try {
 *   await using lock = await acquire(memory(), "import");
 *   lock.signal.throwIfAborted();
 * } catch (error) {
 *   if (!isLockLost(error)) throw error;
 *   console.warn("the import ran without protection, starting again");
 * }
 * ```
 */
export function isLockLost(error: unknown): boolean {
  const seen = new Set<unknown>();
  const open = [error];
  for (const each of open) {
    if (each instanceof LockLostError) return true;
    if (!(each instanceof Error) || seen.has(each)) continue;
    seen.add(each);
    open.push(each.cause);
    if (each.name === "SuppressedError" && "error" in each && "suppressed" in each) {
      open.push(each.error, each.suppressed);
    }
  }
  return false;
}
