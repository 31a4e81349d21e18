import { attainFrom, clockOf } from "./acquire.ts";
import { show } from "./_check.ts";
import { Limit } from "./_limit.ts";
import { LockLostError, LockTimeoutError } from "./errors.ts";
import type { Lock } from "./lock.ts";
import { type AcquireOptions, checkAcquireOptions, checkName } from "./options.ts";
import { type LockTarget, storeOf } from "./resolve.ts";

/**
 * Several locks that are held together, until they are released or one of them is lost. Made by `acquireAll`.
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
  /** Whether all of them are held. */
  readonly held: boolean;
  /** Milliseconds until the first of the leases ends unless it is renewed before; 0 when one lock is not held. */
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
   * Gives up all of them. A second call changes nothing.
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
 * Acquires several locks, all or none. Callers whose names overlap never wait for each other in a circle: who waits for
 * a name holds only names that come before it in the order of their UTF-16 code units (Havender 1968). When all are free
 * it takes as long as one lock.
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
 * @param target a Redis client of ioredis's shape; an array of clients of independent servers (Redlock); or a store
 * @param names the names of the locks, at least one, each 1 to 1,024 bytes of UTF-8; a name that is repeated counts once
 * @param options how to wait and how to hold, for each of the locks; `wait` is for all of them together
 * @returns the locks, held
 * @throws {LockTimeoutError} when not all of them were free within `wait` milliseconds
 * @throws {LockConflictError} when one of them is held with other `permits`, or shared by the same `owner`
 * @throws {StoreError} when the store fails
 * @throws {TypeError} when an argument is of the wrong kind, or an option is unknown or not supported by the store
 * @throws {RangeError} when there are no names, or a name or a number is out of range
 * @throws the reason of `signal`, when that aborts before the locks are held
 */
export async function acquireAll(
  target: LockTarget,
  names: readonly string[],
  options?: AcquireOptions,
): Promise<MultiLock> {
  const sorted = checkNames(names);
  const settings = checkAcquireOptions(options);
  const { wait, signal } = settings;
  signal?.throwIfAborted();
  const store = await storeOf(target);
  const clock = clockOf(store);
  const take = (name: string, wait: number, signal: AbortSignal) => {
    return attainFrom(store, name, { ...settings, wait, signal }, clock);
  };

  let busy = sorted[0]!;
  const late = () => new LockTimeoutError(`Cannot acquire lock "${busy}" and others within ${wait} ms: it is held`);
  const limit = new Limit(signal, wait, late, clock);
  const held: Lock[] = [];
  /** Takes all names that are missing, at once if they are free; else those up to the first that must be waited for. */
  const takeMore = async (signal: AbortSignal) => {
    const rest = sorted.slice(held.length);
    const tries = await Promise.allSettled(rest.map((name) => take(name, 0, signal)));
    const locks = tries.map((each) => each.status === "fulfilled" ? each.value : null);
    const free = locks.includes(null) ? locks.indexOf(null) : rest.length;
    held.push(...locks.slice(0, free).filter((lock) => lock !== null));
    busy = rest[free] ?? busy;
    // Not waited for beyond the limit: the store may hang.
    await limit.race(giveUp(locks.slice(free).filter((lock) => lock !== null)));
    for (const each of tries) if (each.status === "rejected") throw each.reason;
    if (free === rest.length) return;
    if (wait === 0) throw late();
    const lock = await take(busy, Infinity, signal);
    if (lock !== null) held.push(lock);
  };
  try {
    for (;;) {
      // Whoever lost a lock while it waited for a later name begins again: nobody may wait for a name before those it holds.
      if (held.some((lock) => !lock.held)) await limit.race(giveUp(held.splice(0)));
      if (held.length === sorted.length) return new HeldLocks(held);
      await limit.step(takeMore);
      limit.check();
    }
  } catch (error) {
    const given = giveUp(held);
    limit.check();
    // The limit holds for this as well: the store may hang.
    await limit.race(given).catch(() => {});
    throw error;
  } finally {
    limit.end();
  }
}

/** The names, each once, sorted. A copy: the caller may go on to use the array for something else. */
function checkNames(names: readonly string[]): string[] {
  if (!Array.isArray(names)) throw new TypeError(`names must be an array: got ${show(names)}`);
  if (names.length === 0) throw new RangeError("names must not be empty: got []");
  const unique = new Set<string>(names);
  for (const name of unique) checkName(name);
  return [...unique].sort();
}

/** Releases what is of no use without the rest; what fails ends with its lease. */
async function giveUp(locks: readonly Lock[]): Promise<void> {
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

/** Waits for all of them; of several errors a loss comes first. */
async function all(calls: readonly Promise<void>[]): Promise<void> {
  const errors = (await Promise.allSettled(calls)).flatMap((call) => call.status === "rejected" ? [call.reason] : []);
  if (errors.length > 0) throw errors.find((error) => error instanceof LockLostError) ?? errors[0];
}
