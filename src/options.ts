import { checkKeys, checkMilliseconds, show } from "./_check.ts";
import type { Capability, Mode } from "./store.ts";

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
   * How the lock is held: by one holder at a time, or `"shared"`, by any number of shared holders.
   *
   * @default {"exclusive"}
   */
  mode?: Mode | undefined;
  /**
   * Makes the lock a semaphore: how many owners may hold it at once, a whole number from 1 to 2³¹ − 1, the same for all
   * of them. Each has a lease and a fence of its own.
   */
  permits?: number | undefined;
  /**
   * Who holds the lock: 1 to 1,024 bytes of UTF-8 that do not begin with a colon. An owner that holds the lock already,
   * by any handle in any process, gets another handle at once, with the same fence; the lock is free when all of them
   * are released. By default every call is an owner of its own, which no other call enters again: a call for a lock that
   * the caller itself holds then waits for it.
   */
  owner?: string | undefined;
  /**
   * Takes the lock from whoever holds it, ahead of the queue. They hear of it afterwards, at once if they have asked for
   * the `signal` of their lock, else when they renew it next. Only for exclusive locks.
   *
   * @default {false}
   */
  steal?: boolean | undefined;
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
  readonly permits: number | undefined;
  readonly owner: string | undefined;
  /** Which client asks, if the owner is to tell: a fresh owner then is that, a colon and a UUID. */
  readonly client: string | undefined;
  readonly steal: boolean;
  readonly strict: boolean;
  /** What of it not every store supports. */
  readonly needs: readonly Capability[];
}

/** 30 s: longer than the failover of a usual Redis deployment, short enough to wait out after a crash. */
const DEFAULT_LEASE = 30_000;

/** Below this the resolution of timers and of the store's expiry (1 ms each) and the drift eat up the lease. */
const MIN_LEASE = 10;

const MAX_BYTES = 1024;
const MAX_PERMITS = 2 ** 31 - 1;
const TRY_OPTIONS = ["lease", "renew", "signal", "mode", "permits", "owner", "steal", "strict"];
const ACQUIRE_OPTIONS = [...TRY_OPTIONS, "wait"];
const DEFAULTS = checkAcquireOptions({});

/** Rejects what is no name of a lock. */
export function checkName(name: string): void {
  checkText("name", name);
}

/** Checks what `acquire` was given and fills in the rest. */
export function checkAcquireOptions(options?: AcquireOptions): Settings {
  if (options === undefined) return DEFAULTS;
  const { wait = Infinity } = checkKeys(options, ACQUIRE_OPTIONS);
  if (wait !== Infinity) checkMilliseconds("wait", wait, 0);
  return complete(options, wait);
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

function checkText(option: string, text: string): void {
  if (typeof text !== "string") throw new TypeError(`${option} must be a string: got ${show(text)}`);
  if (text === "") throw new RangeError(`${option} must not be empty: got ""`);
  // No UTF-16 unit takes more than 3 bytes of UTF-8.
  if (text.length * 3 > MAX_BYTES && new TextEncoder().encode(text).length > MAX_BYTES) {
    throw new RangeError(`${option} must have at most ${MAX_BYTES} bytes of UTF-8: got ${show(text)}`);
  }
  // Half a surrogate pair becomes U+FFFD on the wire: two names would be one lock.
  if (!text.isWellFormed()) throw new TypeError(`${option} must be well-formed Unicode: got ${show(text)}`);
}

function complete(options: TryAcquireOptions, wait: number): Settings {
  const { lease = DEFAULT_LEASE, renew = true, signal, mode = "exclusive", strict = true } = options;
  const { permits, owner, steal = false } = options;
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
  if (mode !== "exclusive" && mode !== "shared") {
    throw new TypeError(`mode must be "exclusive" or "shared": got ${show(mode)}`);
  }
  if (permits !== undefined) checkPermits(permits, mode);
  if (owner !== undefined) checkOwner(owner);
  if (typeof steal !== "boolean") throw new TypeError(`steal must be a boolean: got ${show(steal)}`);
  if (steal && (mode === "shared" || permits !== undefined)) {
    throw new TypeError("steal must be false for a lock that is shared or has permits: got true");
  }
  if (typeof strict !== "boolean") throw new TypeError(`strict must be a boolean: got ${show(strict)}`);
  const autoInterval = renew === true;
  const interval = autoInterval ? defaultInterval(lease) : renew || Infinity;
  const needs: Capability[] = [];
  if (mode === "shared") needs.push("shared");
  if (permits !== undefined) needs.push("permits");
  if (owner !== undefined) needs.push("owner");
  if (steal) needs.push("steal");
  const client = undefined;
  return { lease, interval, autoInterval, wait, signal, mode, permits, owner, client, steal, strict, needs };
}

function checkPermits(permits: number, mode: Mode): void {
  if (typeof permits !== "number") throw new TypeError(`permits must be a number: got ${show(permits)}`);
  if (!Number.isInteger(permits) || permits < 1 || permits > MAX_PERMITS) {
    throw new RangeError(`permits must be a whole number from 1 to ${MAX_PERMITS}: got ${permits}`);
  }
  if (mode === "shared") throw new TypeError(`permits must not be given for mode "shared": got ${permits}`);
}

function checkOwner(owner: string): void {
  checkText("owner", owner);
  // So begins what stands in the place of an owner while several hold a lock.
  if (owner.startsWith(":")) throw new RangeError(`owner must not begin with a colon: got ${show(owner)}`);
}

/** Whether a value is an `AbortSignal`, of whatever realm. */
export function isSignal(value: unknown): value is AbortSignal {
  // Not instanceof: a signal may come from another realm or a polyfill.
  return value !== null && typeof value === "object" && "throwIfAborted" in value && "addEventListener" in value;
}
