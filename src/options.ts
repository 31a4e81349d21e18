import { checkKeys, checkMilliseconds, show } from "./_check.ts";
import type { Mode } from "./store.ts";

/** What `tryAcquire` takes. */
export interface TryAcquireOptions {
  /**
   * How long the lock outlives a holder that has died, in milliseconds, 10 to 2³¹ − 1.
   *
   * @default {30_000}
   */
  lease?: number | undefined;
  /**
   * The watchdog. `true`: extend the lease every third of it for as long as the lock is held. A number: extend it at
   * this interval, in milliseconds, at least 10 and less than the lease. `false`: never; the lock ends with its lease.
   *
   * @default {true}
   */
  renew?: boolean | number | undefined;
  /** Ends the wait: the call rejects with `signal.reason`. After the grant it has no effect. */
  signal?: AbortSignal | undefined;
  /**
   * How the lock is held: one holder at a time.
   *
   * @default {"exclusive"}
   */
  mode?: Mode | undefined;
  /**
   * Whether leaving the scope rejects with `LockLostError` when the lease was lost before the release. With `false`
   * only `lock.signal` and the store's observer tell.
   *
   * @default {true}
   */
  strict?: boolean | undefined;
}

/** What `acquire` takes. */
export interface AcquireOptions extends TryAcquireOptions {
  /**
   * The longest time to wait for the lock, in milliseconds, from 0 (one attempt) to 2³¹ − 1, or `Infinity`. Then the
   * call rejects with `LockTimeoutError`.
   *
   * @default {Infinity}
   */
  wait?: number | undefined;
}

/** The options, checked and complete. */
export interface Settings {
  readonly lease: number;
  /** Milliseconds between renewals; `Infinity` when the lease is not renewed. */
  readonly interval: number;
  /** Whether the interval follows the lease, when `extend` changes that. */
  readonly autoInterval: boolean;
  readonly wait: number;
  readonly signal: AbortSignal | undefined;
  readonly mode: Mode;
  readonly strict: boolean;
}

/** 30 s: longer than the failover of a usual Redis deployment, short enough to wait out after a crash. */
const DEFAULT_LEASE = 30_000;

/** Below this the resolution of timers and of the store's expiry (1 ms each) and the drift eat up the lease. */
const MIN_LEASE = 10;

const MAX_NAME_BYTES = 1024;
const TRY_OPTIONS = ["lease", "renew", "signal", "mode", "strict"];
const ACQUIRE_OPTIONS = [...TRY_OPTIONS, "wait"];
const DEFAULTS = checkAcquireOptions({});

/** Rejects what is no name of a lock. */
export function checkName(name: string): void {
  if (typeof name !== "string") throw new TypeError(`name must be a string: got ${show(name)}`);
  if (name === "") throw new RangeError(`name must not be empty: got ""`);
  // No UTF-16 unit takes more than 3 bytes of UTF-8.
  if (name.length * 3 > MAX_NAME_BYTES && new TextEncoder().encode(name).length > MAX_NAME_BYTES) {
    throw new RangeError(`name must have at most ${MAX_NAME_BYTES} bytes of UTF-8: got ${show(name)}`);
  }
  // Half a surrogate pair becomes U+FFFD on the wire: two names would be one lock.
  if (!name.isWellFormed()) throw new TypeError(`name must be well-formed Unicode: got ${show(name)}`);
}

/** Checks what `acquire` was given and fills in the rest. */
export function checkAcquireOptions(options?: AcquireOptions): Settings {
  if (options === undefined) return DEFAULTS;
  const { wait = Infinity, ...rest } = checkKeys(options, ACQUIRE_OPTIONS);
  if (wait !== Infinity) checkMilliseconds("wait", wait, 0);
  return complete(rest, wait);
}

/** Checks what `tryAcquire` was given and fills in the rest. */
export function checkTryAcquireOptions(options: TryAcquireOptions = {}): Settings {
  return complete(checkKeys(options, TRY_OPTIONS), 0);
}

/** Rejects what is no lease; also for `extend`. */
export function checkLease(lease: number): void {
  checkMilliseconds("lease", lease, MIN_LEASE);
}

/** The renewal interval that `renew: true` stands for: two renewals may fail before the lease is in danger. */
export function defaultInterval(lease: number): number {
  return lease / 3;
}

/** Rejects an interval that leaves no time to renew within the lease. */
export function checkInterval(interval: number, lease: number): void {
  if (interval >= lease) {
    throw new RangeError(`renew must be less than the lease of ${lease} ms: got ${interval}`);
  }
}

function complete(options: TryAcquireOptions, wait: number): Settings {
  const { lease = DEFAULT_LEASE, renew = true, signal, mode = "exclusive", strict = true } = options;
  checkLease(lease);
  if (typeof renew === "number") {
    checkMilliseconds("renew", renew, MIN_LEASE);
    checkInterval(renew, lease);
  } else if (typeof renew !== "boolean") {
    throw new TypeError(`renew must be a boolean or a number of milliseconds: got ${show(renew)}`);
  }
  if (signal !== undefined && !isSignal(signal)) {
    throw new TypeError(`signal must be an AbortSignal: got ${show(signal)}`);
  }
  if (mode !== "exclusive") throw new TypeError(`mode must be "exclusive": got ${show(mode)}`);
  if (typeof strict !== "boolean") throw new TypeError(`strict must be a boolean: got ${show(strict)}`);
  const autoInterval = renew === true;
  const interval = autoInterval ? defaultInterval(lease) : renew || Infinity;
  return { lease, interval, autoInterval, wait, signal, mode, strict };
}

function isSignal(value: object): value is AbortSignal {
  // Not instanceof: a signal may come from another realm or a polyfill.
  return value !== null && typeof value === "object" && "aborted" in value && "addEventListener" in value;
}
