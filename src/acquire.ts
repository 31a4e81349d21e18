import { type Clock, elapsed, type Instant, SystemClock } from "./_clock.ts";
import { show } from "./_check.ts";
import { giveUp, reason, within } from "./_give_up.ts";
import { Limit } from "./_limit.ts";
import { LockConflictError, LockTimeoutError, QuorumError, StoreError } from "./errors.ts";
import { Lease } from "./lease.ts";
import { LeasedLock, type Lock } from "./lock.ts";
import { tell } from "./observer.ts";
import {
  type AcquireOptions,
  checkAcquireOptions,
  checkName,
  checkTryAcquireOptions,
  type Settings,
  type TryAcquireOptions,
} from "./options.ts";
import { type LockTarget, storeOf } from "./resolve.ts";
import type { Attempt, Claim, Conflict, Store } from "./store.ts";

/** How long a waiter lives through faults of the store that do not let up, in milliseconds: a failover, with reserve. */
const FAULT_TOLERANCE = 10_000;

/** The pauses between attempts that fail, in milliseconds: the first one and the longest one. */
const FAULT_PAUSES = [20, 500] as const;

/** What usually keeps a lock from being acquired, in the words of an error. */
const HELD = "held by another owner";

/** How long a first attempt that failed may take to give back what it may have taken, in milliseconds. */
const UNDO_LIMIT = 1_000;

/**
 * Acquires a lock, waiting for it first come, first served. Hold it with `await using`: it is renewed while it is held
 * and released when the scope ends.
 *
 * @example
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * const store = memory();
 * await using lock = await acquire(store, "invoice:42", { wait: 5_000 });
 * console.log(lock.held); // true
 * ```
 *
 * @param target a Redis client of ioredis's shape; an array of clients of independent servers (Redlock); or a store such
 * as `sqlite("locks.db")`
 * @param name the name of the lock, 1 to 1,024 bytes of UTF-8
 * @param options how to wait and how to hold; durations in milliseconds
 * @returns the lock, held
 * @throws {LockTimeoutError} when the lock was not free within `wait` milliseconds
 * @throws {StoreError} when the store fails at the first attempt, or for 10 s without a break while waiting
 * @throws {LockConflictError} when the lock is held with other `permits`, or shared by the same `owner`
 * @throws {TypeError} when an argument is of the wrong kind, or an option is unknown or not supported by the store
 * @throws {RangeError} when the name or a number is out of range
 * @throws the reason of `signal`, when that aborts before the lock is held
 */
export async function acquire(target: LockTarget, name: string, options?: AcquireOptions): Promise<Lock> {
  checkName(name);
  const settings = checkAcquireOptions(options);
  const lock = await attain(target, name, settings);
  if (lock === null) throw timeout(name, settings.wait, HELD);
  return lock;
}

/**
 * Acquires a lock if it is free and nobody waits for it; gives `null` when it is busy.
 *
 * @example Only one instance writes the report
 * ```ts
 * import { tryAcquire } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * const store = memory();
 * await using lock = await tryAcquire(store, "nightly-report");
 * if (lock === null) console.log("another instance is at it");
 * ```
 *
 * @param target a Redis client of ioredis's shape; an array of clients of independent servers (Redlock); or a store such
 * as `sqlite("locks.db")`
 * @param name the name of the lock, 1 to 1,024 bytes of UTF-8
 * @param options how to hold; durations in milliseconds. To bound the call itself, pass
 * `signal: AbortSignal.timeout(500)`
 * @returns the lock, held, or `null`
 * @throws {StoreError} when the store fails
 * @throws {LockConflictError} when the lock is held with other `permits`, or shared by the same `owner`
 * @throws {TypeError} when an argument is of the wrong kind, or an option is unknown or not supported by the store
 * @throws {RangeError} when the name or a number is out of range
 * @throws the reason of `signal`, when that aborts before the store has answered
 */
export async function tryAcquire(
  target: LockTarget,
  name: string,
  options?: TryAcquireOptions,
): Promise<Lock | null> {
  checkName(name);
  return await attain(target, name, checkTryAcquireOptions(options));
}

/** {@linkcode attainFrom} for a target, on the clock of its store. */
export function attain(target: LockTarget, name: string, settings: Settings): Promise<Lock | null> {
  settings.signal?.throwIfAborted();
  const store = storeOf(target);
  if (!(store instanceof Promise)) return attainFrom(store, name, settings, clockOf(store));
  return store.then((store) => {
    settings.signal?.throwIfAborted();
    return attainFrom(store, name, settings, clockOf(store));
  });
}

/** Each store has a clock of its own: where a runtime ties timers to a request, so are the clients of its stores. */
const clocks = new WeakMap<Store, Clock>();

/** The clock of a store. */
export function clockOf(store: Store): Clock {
  const known = clocks.get(store);
  if (known !== undefined) return known;
  const clock = new SystemClock();
  clocks.set(store, clock);
  return clock;
}

/**
 * Attempts, waits and attempts again, until the lock is granted; `null` when it is busy and `settings.wait` is 0. On
 * any other end nothing is left in the store, as soon as that answers.
 */
export async function attainFrom(store: Store, name: string, settings: Settings, clock: Clock): Promise<Lock | null> {
  const { wait } = settings;
  const claim = claimOf(store, name, settings);
  const { owner } = claim;
  const started = clock.now();
  let obstacle = "the store did not answer";
  const limit = new Limit(settings.signal, wait, () => timeout(name, wait, obstacle), clock);
  let attempting: Promise<Attempt> | undefined;
  let lease: Lease | undefined;
  let failingSince: Instant | undefined;
  let pause: number = FAULT_PAUSES[0];
  let refused = false;
  try {
    for (let first = true;; first = false) {
      const sentAt = first ? started : clock.now();
      let late = false;
      let next: (signal: AbortSignal) => Promise<void>;
      try {
        attempting = store.attempt(claim, { enqueue: wait > 0, steal: settings.steal });
        // Made while the attempt is on its way, so that nothing is left to do when the answer comes.
        lease = new Lease(store, claim, settings, sentAt, clock);
        limit.tidy();
        const attempt = await limit.race(attempting);
        if (attempt.granted) {
          const { fence } = attempt;
          // Too late is as good as never: the store may have given the lock away again.
          late = !lease.begin();
          if (late) throw new Error(`the answer took longer than the lease of ${claim.lease} ms`);
          if (store.observer !== undefined) {
            tell(store.observer, { type: "acquired", name, owner, fence, waited: elapsed(started, clock.now()) });
          }
          return new LeasedLock(store, lease, fence, settings.strict, clock);
        }
        lease.end();
        if ("conflict" in attempt) throw conflict(claim, attempt.conflict);
        if (wait === 0) return null;
        obstacle = HELD;
        failingSince = undefined;
        pause = FAULT_PAUSES[0];
        const { retryAfter } = attempt;
        next = (signal) => nextTry(store, claim, retryAfter, signal, clock);
      } catch (error) {
        lease?.end();
        limit.check();
        if (error instanceof LockConflictError) throw error;
        tell(store.observer, { type: "fault", name, owner, operation: "attempt", error });
        obstacle = reason(error);
        failingSince ??= sentAt;
        // Later on, an earlier attempt has left a place in the queue.
        refused = first && error instanceof StoreError;
        // What comes late is worth another try: the first wait of a client takes longer than others.
        const fatal = first && !(late && wait > 0) || store.closed;
        if (fatal || elapsed(failingSince, clock.now()) >= FAULT_TOLERANCE) {
          if (error instanceof QuorumError) throw error;
          const cause = error instanceof StoreError ? error.cause : error;
          throw new StoreError(`Cannot acquire lock "${name}": ${reason(error)}`, { cause });
        }
        // No wake-up cuts this short: one may come of every try, from a connection that is made and lost each time.
        const ms = pause;
        next = (signal) => clock.sleep(ms, signal);
        pause = Math.min(pause * 2, FAULT_PAUSES[1]);
      }
      if (first) tell(store.observer, { type: "waiting", name, owner });
      await limit.step(next);
      limit.check();
    }
  } catch (error) {
    // A call that is still out may take the lock later: what it takes is given back when it returns.
    const undone = (attempting ?? Promise.resolve()).catch(() => {}).then(() => store.release(claim));
    undone.catch(() => refused || giveUp(store, claim, clock)).catch(() => {});
    if (!limit.reached) {
      await limit.race(within(UNDO_LIMIT, undone, () => new Error("late"), clock)).catch(() => {});
    }
    throw error;
  } finally {
    limit.end();
  }
}

/** Resolves when another attempt makes sense: on a wake-up, or after `ms` milliseconds. */
async function nextTry(store: Store, claim: Claim, ms: number, signal: AbortSignal, clock: Clock): Promise<void> {
  const sleep = clock.sleep(ms, signal);
  // A store that cannot wake us is polled.
  await Promise.race([sleep, store.wakeup?.(claim, signal).catch(() => sleep) ?? sleep]);
}

/** What is asked of the store. */
function claimOf(store: Store, name: string, { mode, permits, owner, client, lease, needs }: Settings): Claim {
  for (const need of needs) {
    if (store.capabilities?.includes(need)) continue;
    throw new TypeError(`${need === "shared" ? `mode "shared"` : need} is not supported by this store`);
  }
  const uuid = crypto.randomUUID();
  const id = client === undefined ? uuid : `${client}:${uuid}`;
  return { name, mode, permits, lease, owner: owner ?? id, hold: owner === undefined ? undefined : `${owner}/${id}` };
}

function conflict({ name, mode, permits, owner }: Claim, { present, own }: Conflict): LockConflictError {
  const held = typeof present === "number" ? `with ${present} permits` : `in mode "${present}"`;
  const asked = permits === undefined ? `in mode "${mode}"` : `with ${permits} permits`;
  const why = own ? `by the owner ${show(owner)} itself, which would wait for itself` : "at present";
  return new LockConflictError(`Cannot acquire lock "${name}" ${asked}: it is held ${held} ${why}`);
}

function timeout(name: string, wait: number, obstacle: string): LockTimeoutError {
  return new LockTimeoutError(`Cannot acquire lock "${name}" within ${wait} ms: ${obstacle}`);
}
