import { show } from "../internal/validation.ts";
import { RESERVED } from "./names.ts";
import { isSignal } from "../lock/options.ts";
import type { Mode } from "../contract/store.ts";

/** Options of `LockManager.request()`. */
export interface LockOptions {
  /**
   * How the lock is held: by one holder at a time, or `"shared"`, by any number of shared holders.
   *
   * @default {"exclusive"}
   */
  mode?: Mode | undefined;
  /**
   * Whether to call back with `null` when the lock is busy, instead of waiting.
   *
   * @default {false}
   */
  ifAvailable?: boolean | undefined;
  /**
   * Whether to take the lock from its holders, ahead of the queue.
   *
   * @default {false}
   */
  steal?: boolean | undefined;
  /** Ends the wait: the request rejects with `signal.reason`. After the grant it has no effect. */
  signal?: AbortSignal | undefined;
}

/** The lock for the callback: as on the platform, with a fence and a signal. */
export interface WebLock {
  /** The name that was requested. */
  readonly name: string;
  /** How it is held. */
  readonly mode: Mode;
  /** The fencing token: larger than the token of all earlier holders of this name. */
  readonly fence: bigint;
  /** Aborts with a `LockLostError` when the lock is stolen or lost; does not abort when it is released. */
  readonly signal: AbortSignal;
}

/** The function that runs while the lock is held. The lock is held until the promise that it returns settles. */
export type LockGrantedCallback<T> = (lock: WebLock | null) => T;

/** The arguments of `request()`, checked and complete. */
export interface LockRequest<T> {
  readonly name: string;
  readonly mode: Mode;
  readonly ifAvailable: boolean;
  readonly steal: boolean;
  readonly signal: AbortSignal | undefined;
  readonly callback: LockGrantedCallback<T>;
}

/**
 * Converts the arguments of `request()` as the platform does, and throws where the specification requires it. The order
 * of the steps decides which of two errors is thrown.
 */
export function checkLockRequest<T>(name: unknown, args: readonly unknown[]): LockRequest<T> {
  const [options, callback] = args.length < 2 ? [undefined, args[0]] : args;
  const request = { name: toText(name), ...toLockOptions(options), callback: toCallback<T>(callback) };
  const { mode, ifAvailable, steal, signal } = request;
  if (request.name.startsWith(RESERVED)) {
    throw notSupported(`Cannot request lock ${show(request.name)}: names that begin with "${RESERVED}" are reserved`);
  }
  if (steal && ifAvailable) throw notSupported("steal and ifAvailable must not be true both");
  if (steal && mode !== "exclusive") throw notSupported(`steal must not be true for mode ${show(mode)}`);
  if (signal !== undefined && (steal || ifAvailable)) {
    throw notSupported(`signal must not be given when ${steal ? "steal" : "ifAvailable"} is true`);
  }
  signal?.throwIfAborted();
  return request;
}

/** Returns the error for a request that the specification or a store does not support. */
export function notSupported(message: string): DOMException {
  return new DOMException(message, "NotSupportedError");
}

/** Converts the dictionary. Reads its members in alphabetical order. */
function toLockOptions(options: unknown): Omit<LockRequest<unknown>, "name" | "callback"> {
  if (typeof options !== "function" && typeof (options ?? {}) !== "object") {
    throw new TypeError(`options must be an object: got ${show(options)}`);
  }
  const given = (options ?? {}) as { [key in keyof LockOptions]: unknown };
  const ifAvailable = Boolean(given.ifAvailable);
  const mode = toMode(given.mode);
  const { signal } = given;
  if (signal !== undefined && !isSignal(signal)) {
    throw new TypeError(`signal must be an AbortSignal: got ${show(signal)}`);
  }
  return { ifAvailable, mode, signal, steal: Boolean(given.steal) };
}

function toMode(mode: unknown): Mode {
  const text = mode === undefined ? "exclusive" : toText(mode);
  if (text === "exclusive" || text === "shared") return text;
  throw new TypeError(`mode must be "exclusive" or "shared": got ${show(text)}`);
}

function toCallback<T>(callback: unknown): LockGrantedCallback<T> {
  if (typeof callback === "function") return callback as LockGrantedCallback<T>;
  throw new TypeError(`callback must be a function: got ${show(callback)}`);
}

/** Converts a value to a string. Throws a `TypeError` for a symbol, unlike `String`. */
function toText(value: unknown): string {
  return `${value}`;
}
