import { checkInterval, defaultInterval, type RenewalInterval } from "./lease/lease_times.ts";
import { checkMeta } from "../internal/process/meta.ts";
import { checkKeys, checkMilliseconds, show } from "../internal/validation.ts";
import { warnOnce } from "../internal/process/warning.ts";
import type { Capability, Meta, Mode } from "../contract/store.ts";

/** The options of `tryAcquire`. */
export interface TryAcquireOptions {
  /**
   * The lease: how long the store keeps the lock after the grant or the last renewal, in milliseconds, 10 to 2³¹ −
   * 1. A lock outlives a holder that died by at most this time. Less than 100 without `renew` is taken for seconds by
   * mistake: the process is warned once (`HoldfastWarning`).
   *
   * @default {30_000}
   */
  lease?: number | undefined;
  /**
   * How often the lease is renewed while the lock is held. `true`: at every third of the lease. A number: at this
   * interval in milliseconds, at least 10 and less than the lease. `false`: never, so that the lock ends with its
   * lease.
   *
   * @default {true}
   */
  renew?: boolean | number | undefined;
  /**
   * For how long nobody else is granted the lock, counted from the grant, however soon it is released: in milliseconds,
   * up to 2³¹ − 1. An earlier release renews the lease once, for the missing time (10 ms at least), and leaves the
   * lock to it; waiters are served when the lease ends. So a machine whose clock is behind does not repeat a job that
   * is done in a moment. The same `owner` may enter the lock meanwhile. If the process dies, or the lock is lost, the
   * lock ends as without this option.
   *
   * @default {0}
   */
  atLeast?: number | undefined;
  /** Ends the wait: the call rejects with `signal.reason`. After the grant it has no effect. */
  signal?: AbortSignal | undefined;
  /**
   * How the lock is held: by one holder at a time, or `"shared"`, by any number of shared holders.
   *
   * @default {"exclusive"}
   */
  mode?: Mode | undefined;
  /**
   * Makes the lock a semaphore: how many owners may hold it at once, a whole number from 1 to 2³¹ − 1, the same for
   * all of them. Each has a lease and a fence of its own.
   */
  permits?: number | undefined;
  /**
   * The owner that the lock is acquired for, 1 to 1,024 bytes of UTF-8 that do not begin with a colon. An owner that
   * holds the lock already, through any handle in any process, is granted another handle at once, with the same fence.
   * The lock is free when all of its handles are released. Without `owner` every call has a new owner, and locks are
   * not re-entrant: to acquire a lock that you hold blocks until `wait` or `signal` ends it.
   */
  owner?: string | undefined;
  /**
   * Revokes the lock of its present holders and acquires it, ahead of the queue. The holders are notified afterwards:
   * at once if they have read the `signal` of their lock, else at their next renewal. Only for exclusive locks.
   *
   * @default {false}
   */
  steal?: boolean | undefined;
  /**
   * Whether leaving the scope rejects with `LockLostError` when the lease was lost before the release, even if the body
   * has read `lock.signal`: nobody knows whether it stopped for that reason. With `false` only the signal and the
   * store's observer report the loss, and an error of the body leaves the scope unchanged.
   *
   * @default {true}
   */
  strict?: boolean | undefined;
  /**
   * The description of this handle in listings of the store's locks: a flat record of strings, added to `host` and
   * `pid` where the runtime tells them (Deno: with `--allow-sys=hostname`). As JSON it has at most 1,024 bytes.
   * Everybody with access to the store can read it. `false` stores nothing.
   *
   * @default {{ host, pid }}
   */
  meta?: Meta | false | undefined;
}

/** The options of `acquire`. */
export interface AcquireOptions extends TryAcquireOptions {
  /**
   * The longest time to wait for the lock, in milliseconds, from 0 (one attempt) to 2³¹ − 1, or `Infinity`. Then
   * the call rejects with `LockTimeoutError` if the lock was busy when the store last answered, else with `StoreError`.
   * It first releases what it may hold, which may take another second. While it waits, store errors are retried for up
   * to 10 s. With 0 there is no retry.
   *
   * `wait` does not limit the first attempt: the store is given 10 s to answer it, unless the client reports that it is
   * not connected. So a free lock is acquired however far away the store is. To limit the call itself, pass `signal:
   * AbortSignal.timeout(ms)`.
   *
   * @default {Infinity}
   */
  wait?: number | undefined;
}

/** The options, checked and complete. */
export interface Settings extends RenewalInterval {
  readonly lease: number;
  readonly atLeast: number;
  readonly wait: number;
  readonly signal: AbortSignal | undefined;
  readonly mode: Mode;
  readonly permits: number | undefined;
  readonly owner: string | undefined;
  /** The id of the client, if new owners begin with it: such an owner is the id, a colon and a UUID. */
  readonly client: string | undefined;
  readonly steal: boolean;
  readonly strict: boolean;
  /** The description of the handle as JSON; see {@linkcode Claim.meta}. */
  readonly meta: string | undefined;
  /** The capabilities that the store must have. */
  readonly needs: readonly Capability[];
}

/** 30 s: longer than the failover of a usual Redis deployment, short enough to wait out after a crash. */
const DEFAULT_LEASE_MS = 30_000;

/** Below this the resolution of timers and of the store's expiry (1 ms each) and the drift eat up the lease. */
export const MIN_LEASE_MS = 10;

/** Below this a lease is probably meant in seconds: any pause of the process, or of the network, would end it. */
const SHORT_LEASE_MS = 100;

const MAX_BYTES = 1024;
const MAX_PERMITS = 2 ** 31 - 1;
const COMMON_OPTIONS = ["lease", "renew", "signal", "mode", "permits", "owner", "steal", "strict", "meta"];
const TRY_OPTIONS = [...COMMON_OPTIONS, "atLeast"];
const ACQUIRE_OPTIONS = [...TRY_OPTIONS, "wait"];
/** The options of `acquireAll`, which releases locks while it waits for others. */
export const JOINT_OPTIONS: string[] = [...COMMON_OPTIONS, "wait"];
const DEFAULTS = checkAcquireOptions({});

/** The options of other libraries, each with the option to use instead. The first match counts. */
const MEANT: readonly (readonly [like: RegExp, meant: string])[] = [
  [/least/i, "atLeast"],
  [/lease|ttl|expir|duration|lockTimeout|most/i, "lease"],
  [/wait|timeout|retr|attempt/i, "wait"],
  [/interval|refresh|exten/i, "renew"],
  [/limit|count|max/i, "permits"],
  [/shared/i, "mode"],
  [/value|token|^id|reent/i, "owner"],
  [/force/i, "steal"],
];

/** Throws unless `name` can be the name of a lock. */
export function checkName(name: string): void {
  if (name === undefined || typeof name === "function") {
    throw new TypeError('name is missing: pass the store, then the name, as in acquire(store, "invoice:42")');
  }
  if (Array.isArray(name)) {
    throw new TypeError(`name must be a string: got ${show(name)}. Pass several to acquireAll()`);
  }
  checkText("name", name);
}

/** Checks the options of `acquire` and fills in the defaults. */
export function checkAcquireOptions(options?: AcquireOptions, known: string[] = ACQUIRE_OPTIONS): Settings {
  if (options === undefined) return DEFAULTS;
  const { wait = Infinity } = checkOptions(options, known);
  if (wait !== Infinity) checkMilliseconds("wait", wait, 0);
  return complete(options, wait);
}

/** Checks the options of `tryAcquire` and fills in the defaults. */
export function checkTryAcquireOptions(options: TryAcquireOptions = {}): Settings {
  return complete(checkOptions(options, TRY_OPTIONS), 0);
}

function checkOptions<T extends object>(options: T, known: string[]): T {
  if (typeof options === "function") {
    throw new TypeError(`options must be an object: got ${show(options)}. Pass a function to withLock()`);
  }
  return checkKeys(options, known, (key) => {
    const [, meant] = MEANT.find(([like]) => like.test(key)) ?? [];
    if (meant === undefined) return "";
    return known.includes(meant) ? `use ${meant}; ` : `use acquire() with ${meant}; `;
  });
}

/** Throws unless `lease` can be the length of a lease. */
function checkLease(lease: number): void {
  checkMilliseconds("lease", lease, MIN_LEASE_MS);
}

/** Checks the new lease of a lock that is extended; `before` is its present lease. */
export function checkExtension(lease: number, before: number): void {
  checkLease(lease);
  if (lease < SHORT_LEASE_MS && before >= SHORT_LEASE_MS) warnOfUnit("The lease of extend()", lease, "");
}

function warnOfUnit(what: string, lease: number, otherwise: string): void {
  const meant = `pass ${lease * 1_000} for ${lease} s${otherwise}`;
  warnOnce("short lease", `${what} is in milliseconds, and ${lease} is too short for most uses: ${meant}`);
}

function checkText(option: string, text: string): void {
  if (typeof text !== "string") throw new TypeError(`${option} must be a string: got ${show(text)}`);
  if (text === "") throw new RangeError(`${option} must not be empty: got ""`);
  // No UTF-16 unit takes more than 3 bytes of UTF-8.
  const { length } = text.length * 3 > MAX_BYTES ? new TextEncoder().encode(text) : text;
  if (length > MAX_BYTES) {
    throw new RangeError(`${option} must have at most ${MAX_BYTES} bytes of UTF-8: got ${length} in ${show(text)}`);
  }
  // Half a surrogate pair becomes U+FFFD on the wire: two names would be one lock.
  if (!text.isWellFormed()) throw new TypeError(`${option} must be well-formed Unicode: got ${show(text)}`);
}

function complete(options: TryAcquireOptions, wait: number): Settings {
  const { lease = DEFAULT_LEASE_MS, renew = true, signal, mode = "exclusive", strict = true } = options;
  const { permits, owner, steal = false, atLeast = 0 } = options;
  checkLease(lease);
  checkMilliseconds("atLeast", atLeast, 0);
  if (lease < SHORT_LEASE_MS && options.renew === undefined) {
    warnOfUnit("The option lease", lease, `, or renew as well if you mean ${lease} ms`);
  }
  if (typeof renew === "number") {
    checkMilliseconds("renew", renew, MIN_LEASE_MS);
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
  const meta = checkMeta(options.meta);
  const client = undefined;
  return {
    ...{ lease, atLeast, interval, autoInterval, wait, signal, mode, permits, owner, client, steal, strict, meta },
    needs,
  };
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
  // Stores write words that begin with a colon in the place of an owner while several owners hold a lock.
  if (owner.startsWith(":")) throw new RangeError(`owner must not begin with a colon: got ${show(owner)}`);
}

/** Returns whether a value is an `AbortSignal`, of any realm. */
export function isSignal(value: unknown): value is AbortSignal {
  // Not instanceof: a signal may come from another realm or a polyfill.
  return value !== null && typeof value === "object" && "throwIfAborted" in value && "addEventListener" in value;
}
