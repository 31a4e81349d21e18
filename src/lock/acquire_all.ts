import { AttemptHistory } from "./lease/attempt_history.ts";
import type { Clock } from "../time/clock.ts";
import { makeInspectable } from "../internal/listing/inspectable.ts";
import { clockOf } from "./lease/held_leases.ts";
import { show } from "../internal/validation.ts";
import { WaitScope } from "../time/wait_scope.ts";
import { acquireFrom } from "./acquisition.ts";
import { LockLostError, StoreError } from "../contract/errors.ts";
import type { Lock } from "./lock.ts";
import { type AcquireOptions, checkAcquireOptions, checkName, JOINT_OPTIONS, type Settings } from "./options.ts";
import type { Store } from "../contract/store.ts";
import { type LockTarget, storeOf } from "./target.ts";

/**
 * Several locks that are held together, until they are released or one of the locks is lost. Made by `acquireAll`.
 *
 * @example
 * ```ts
 * import { acquireAll } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * await using locks = await acquireAll(memory(), ["account:2", "account:1"]);
 * console.log(locks.names, locks.fences.get("account:1")! > 0n); // [ "account:1", "account:2" ] true
 * ```
 */
export interface MultiLock extends AsyncDisposable {
  /** The names that were acquired, each once, sorted. */
  readonly names: readonly string[];
  /** The fencing token of each name. */
  readonly fences: ReadonlyMap<string, bigint>;
  /** Aborts with a {@linkcode LockLostError} when any of the locks is lost; not when they are released. */
  readonly signal: AbortSignal;
  /** Whether all locks are held. */
  readonly held: boolean;
  /** Returns the milliseconds until the first lease ends unless it is renewed before; 0 when one lock is not held. */
  remaining(): number;
  /**
   * Renews all leases now, for `lease` milliseconds from now on (10 to 2³¹ − 1; the lease as it is when left out).
   *
   * @throws {LockLostError} when one of the locks is lost or released
   * @throws {StoreError} when the store did not answer
   * @throws {RangeError} when `lease` is out of range, or no longer than the `renew` interval
   */
  extend(lease?: number): Promise<void>;
  /**
   * Releases all locks. A second call changes nothing.
   *
   * @throws {LockLostError} when one of them was lost before
   * @throws {StoreError} when the store could not be reached for 5 s; what is still held then ends with its lease
   */
  release(): Promise<void>;
  /**
   * Releases at the end of an `await using` scope. Rejects with {@linkcode LockLostError} when a lock was lost, unless
   * `strict: false` was given.
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Acquires several locks, all or none. Callers whose names overlap cannot deadlock: a waiter for a name holds only
 * names that come before it in the order of their UTF-16 code units (Havender 1968). When all are free it takes as long
 * as one lock.
 *
 * @example
 * ```ts
 * import { acquireAll } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * const store = memory();
 * await using locks = await acquireAll(store, ["account:1", "account:2"], { wait: 5_000 });
 * console.log(locks.held); // true
 * ```
 *
 * @param target a Redis client; an array of clients of independent servers (Redlock); or a store
 * @param names the names of the locks, at least one, each 1 to 1,024 bytes of UTF-8; a name that is repeated counts
 * once
 * @param options those of `acquire` but `atLeast`, for each of the locks; `wait` is for all of them together
 * @returns the locks, held
 * @throws {LockTimeoutError} when not all of them were free within `wait` milliseconds
 * @throws {LockConflictError} when one of them is held with other `permits`, or shared by the same `owner`
 * @throws {StoreError} when the store fails in a way, or for so long, that `acquire` would reject
 * @throws {TypeError} when an argument is of the wrong kind, or an option is unknown or not supported by the store
 * @throws {RangeError} when there are no names, or a name or a number is out of range
 * @throws the reason of `signal`, when that aborts before the locks are held
 */
export async function acquireAll(
  target: LockTarget,
  names: readonly string[],
  options?: Omit<AcquireOptions, "atLeast">,
): Promise<MultiLock> {
  const sorted = checkNames(names);
  const settings = checkAcquireOptions(options, JOINT_OPTIONS);
  settings.signal?.throwIfAborted();
  const store = await storeOf(target);
  const acquisition = new JointAcquisition(store, sorted, settings, clockOf(store));
  try {
    return await acquisition.run();
  } catch (error) {
    await acquisition.undo();
    throw error;
  } finally {
    acquisition.end();
  }
}

/** One call of `acquireAll`. */
class JointAcquisition {
  readonly #store: Store;
  /** The names, sorted. */
  readonly #names: readonly string[];
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #scope: WaitScope;
  /** The locks held so far: of the first names, in their order. */
  readonly #held: Lock[] = [];
  /** Settles when the last locks that were given up, in order to wait, are released. */
  #released: Promise<unknown> = Promise.resolve();
  /** The attempts at the name that was busy last. */
  #missing: AttemptHistory;

  constructor(store: Store, names: readonly string[], settings: Settings, clock: Clock) {
    this.#store = store;
    this.#names = names;
    this.#settings = settings;
    this.#clock = clock;
    this.#missing = new AttemptHistory(store, names[0]!);
    this.#scope = new WaitScope(settings.signal, settings.wait, () => this.#timeout(), clock);
  }

  /** Acquires all locks. */
  async run(): Promise<MultiLock> {
    for (;;) {
      // After a loss while it waited for a later name it begins again: a waiter may hold only names that come before.
      if (this.#held.some((lock) => !lock.held)) await this.#giveBack(this.#held.splice(0));
      if (this.#held.length === this.#names.length) return new HeldLocks(this.#held);
      this.#scope.check();
      await this.#scope.step((signal) => this.#acquireMore(signal));
    }
  }

  /** Releases all locks that are held. Throws the reason if the wait is over. */
  async undo(): Promise<void> {
    const released = Promise.all([this.#released, releaseAll(this.#held)]);
    await this.#scope.undo(released, () => this.#store.connectionError === undefined);
    this.#scope.check();
  }

  /** Removes every timer and listener. */
  end(): void {
    this.#scope.end();
  }

  /**
   * Acquires the missing names at once if all are free. Else acquires the names up to the first busy one, and waits for
   * its lock.
   */
  async #acquireMore(signal: AbortSignal): Promise<void> {
    const missing = await this.#acquireFree(signal);
    if (missing === undefined) return;
    if (this.#settings.wait === 0) throw this.#timeout();
    const lock = await this.#acquire(missing, Infinity, signal);
    if (lock !== null) this.#held.push(lock);
  }

  /** Tries all missing names at once. Keeps the locks before the first busy name, and returns the tries of that. */
  async #acquireFree(signal: AbortSignal): Promise<AttemptHistory | undefined> {
    const histories = this.#names.slice(this.#held.length).map((name) => new AttemptHistory(this.#store, name));
    const tries = await Promise.allSettled(histories.map(async (each) => await this.#acquire(each, 0, signal)));
    const locks = tries.map((each) => each.status === "fulfilled" ? each.value : null);
    const busy = locks.indexOf(null);
    const free = busy < 0 ? locks.length : busy;
    this.#held.push(...present(locks.slice(0, free)));
    const missing = histories[free];
    if (missing === undefined) return undefined;
    this.#missing = missing;
    await this.#giveBack(present(locks.slice(free)));
    for (const [i, each] of tries.entries()) {
      if (each.status === "rejected" && this.#isFinal(each.reason, histories[i]!)) throw each.reason;
    }
    return missing;
  }

  /** Releases locks before the next step. The wait limits the releases as well: the store may hang. */
  async #giveBack(locks: readonly Lock[]): Promise<void> {
    await this.#scope.race(this.#released = releaseAll(locks));
  }

  /** Whether waiting is of no use. A fault that may pass is waited for like a busy lock. */
  #isFinal(fault: unknown, history: AttemptHistory): boolean {
    return this.#settings.wait === 0 || !(fault instanceof StoreError) || !history.mayRetry(this.#clock);
  }

  #acquire(history: AttemptHistory, wait: number, signal: AbortSignal): Promise<Lock | null> {
    return acquireFrom(this.#store, history.name, { ...this.#settings, wait, signal }, this.#clock, history);
  }

  #timeout(): Error {
    return this.#missing.timeout(this.#settings.wait, " and others");
  }
}

function present(locks: readonly (Lock | null)[]): Lock[] {
  return locks.filter((lock) => lock !== null);
}

/** Returns the names, each once, sorted. The array is a copy: the caller may change its own. */
function checkNames(names: readonly string[]): string[] {
  if (!Array.isArray(names)) throw new TypeError(`names must be an array: got ${show(names)}`);
  if (names.length === 0) throw new RangeError("names must not be empty: got []");
  const unique = new Set<string>(names);
  for (const name of unique) checkName(name);
  return [...unique].sort();
}

/** Releases locks that are of no use without the others. A lock that cannot be released ends with its lease. */
async function releaseAll(locks: readonly Lock[]): Promise<void> {
  await Promise.allSettled(locks.map((lock) => lock.release()));
}

class HeldLocks implements MultiLock {
  readonly names: readonly string[];
  readonly fences: ReadonlyMap<string, bigint>;
  readonly #locks: readonly Lock[];
  #signal: AbortSignal | undefined;

  constructor(locks: readonly Lock[]) {
    this.names = locks.map((lock) => lock.name);
    this.fences = new Map(locks.map((lock) => [lock.name, lock.fence]));
    this.#locks = locks;
  }

  get signal(): AbortSignal {
    return this.#signal ??= AbortSignal.any(this.#locks.map((lock) => lock.signal));
  }

  get held(): boolean {
    return this.#locks.every((lock) => lock.held);
  }

  remaining(): number {
    return Math.min(...this.#locks.map((lock) => lock.remaining()));
  }

  async extend(lease?: number): Promise<void> {
    await all(this.#locks.map((lock) => lock.extend(lease)));
  }

  async release(): Promise<void> {
    await all(this.#locks.map((lock) => lock.release()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await all(this.#locks.map((lock) => lock[Symbol.asyncDispose]()));
  }
}

/** Waits for all calls. If several fail, throws a lost lock before any other error. */
async function all(calls: readonly Promise<void>[]): Promise<void> {
  const errors = (await Promise.allSettled(calls)).flatMap((call) => call.status === "rejected" ? [call.reason] : []);
  if (errors.length > 0) throw errors.find((error) => error instanceof LockLostError) ?? errors[0];
}

makeInspectable<HeldLocks>(HeldLocks.prototype, "MultiLock", (locks) => {
  return { names: locks.names, fences: locks.fences, held: locks.held, remaining: locks.remaining() };
});
