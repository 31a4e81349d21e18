import { reason } from "../internal/reason.ts";
/** The reason a {@linkcode LockError} was raised, as a literal to switch on. */
export type LockErrorCode = "timeout" | "lost" | "conflict" | "store" | "quorum";

/**
 * The class that all errors of this package extend, except `TypeError` and `RangeError` for bad arguments.
 *
 * @example Distinguish the reasons
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
  /** The literal to switch on. */
  abstract readonly code: LockErrorCode;
}

/**
 * The lock was not free within `wait` milliseconds: it was busy when the store last answered. The message says whether
 * this process holds it. The call holds nothing, and has left the queue.
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
  /** The code to switch on. */
  readonly code = "timeout";
}

/**
 * The lease ended, or may have ended, before the lock was released: another owner can hold the lock now. If renewals
 * failed, `cause` is the last fault or the error of the connection.
 * It is the reason of `lock.signal`. `release()` and, unless `strict: false`, dispose reject with it.
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
  /** The code to switch on. */
  readonly code = "lost";
}

/**
 * The lock is held in a way that conflicts with the options: with other `permits`, or shared by the same owner, which
 * would wait for itself. Nothing was done.
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
  /** The code to switch on. */
  readonly code = "conflict";
}

/** The options of a {@linkcode StoreError}. */
export interface StoreErrorOptions extends ErrorOptions {
  /**
   * Whether a retry is of no use.
   *
   * @default {false}
   */
  permanent?: boolean | undefined;
}

/**
 * The store could not be reached, did not answer in time or refused. `cause` is its own error, or that of its
 * connection while there is none. It is not known whether the store has executed the call: a lock that it may have
 * granted is released, or ends with its lease.
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
  /** The code to switch on. */
  readonly code: "store" | "quorum" = "store";
  /**
   * Whether a retry is of no use: missing rights, a key of another type, a server that cannot run the scripts, a client
   * that was closed. Such an error ends a wait at once. Other errors are retried while there is time.
   */
  readonly permanent: boolean;

  /** Creates the error, with the options of `Error` and `permanent`. */
  constructor(message?: string, { permanent = false, ...options }: StoreErrorOptions = {}) {
    super(message, options);
    this.permanent = permanent;
  }
}

/** The failure of one node of a quorum. */
export interface NodeFailure {
  /** The index of the node in the list that was given, from 0. */
  readonly index: number;
  /** Its address as `host:port`, if known. */
  readonly address: string | undefined;
  /** Its own error, or an error that says that it did not answer in time. */
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
  /** The code to switch on. */
  override readonly code = "quorum";
  /** The nodes that failed. */
  readonly failures: readonly NodeFailure[];

  /** Makes the error. The message says how each node failed; the cause holds all of their errors. */
  constructor(message: string, failures: readonly NodeFailure[], options: Pick<StoreErrorOptions, "permanent"> = {}) {
    const each = failures.map(({ index, address, error }) => {
      return `node ${index}${address === undefined ? "" : ` (${address})`}: ${reason(error)}`;
    });
    super(`${message}: ${each.join("; ")}`, {
      ...options,
      cause: new AggregateError(failures.map(({ error }) => error)),
    });
    this.failures = failures;
  }
}

/**
 * Returns whether an error is, or wraps, a {@linkcode LockLostError}. When the body of an `await using` scope throws
 * and the lock was lost as well, the language wraps both in a `SuppressedError`. This function looks inside it, and
 * along `cause`.
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
