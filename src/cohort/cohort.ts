import { SystemClock } from "../time/clock.ts";
import { HandoffStore } from "../handoff/handoff_store.ts";
import type { HandoffSettings } from "../handoff/context.ts";
import { describeMistake } from "../internal/mistaken_target.ts";
import { looksLikeClient, looksLikeStore } from "../internal/target_shape.ts";
import type { Store } from "../contract/store.ts";
import type { RedisClient } from "../stores/redis/clients/client.ts";
import { redis } from "../stores/redis/mod.ts";
import type { LockTarget } from "../lock/target.ts";
import { redlock } from "../redlock/mod.ts";
import { checkCohortOptions, type CohortOptions } from "./options.ts";

/** A store made of another store, see {@linkcode cohort}. Disposing of the cohort does not close the other store. */
export interface Cohort extends Store, AsyncDisposable {
  /**
   * Gives back the locks that no handle holds. Locks that are held stay held, and waiters go on waiting in the store.
   * Waits until the store has answered the requests that no caller awaits, for 5 s at most. Later calls go to the store
   * directly.
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Returns a store that hands a lock on among the handles of this process for `keep` milliseconds, ahead of the waiters
 * of other processes. One handle at a time asks for the lock and the others sleep, so that a lock with many waiters
 * costs few requests. With `linger` it also keeps a lock for the next handle while no handle holds it.
 *
 * **Waiting is not strictly first come, first served.** For `keep` milliseconds after a grant, the handles of this
 * process come before all other waiters. Then the process gives the lock back, and queues at the end if handles still
 * wait. A waiter of another process waits at most `keep`, one section and one renewal for each process with a cohort
 * that is ahead of it; a section is what a handle does between its grant and its release. {@linkcode
 * CohortOptions.linger} says when not to use `linger`.
 *
 * A handle that is alone with its name goes to the store as without a cohort, unless the process lingers.
 *
 * `query()` lists the handles of this process. In other processes, it lists the handle that the store granted the lock
 * to, until the process gives the lock back.
 *
 * Fences rise from handle to handle. They are reserved together with the grant; on a store that reserves no fences each
 * handle asks for its own. After `steal`, `evict` or a failover elsewhere the process may hand the lock on until it is
 * notified, for `keep` at most; the fence orders the handles. `steal` and `evict` of this process end the handing on at
 * once, through any object of the same client or store. Only the last release asks the store, so only the last release
 * reports a loss of which the process was not notified.
 *
 * Shared locks, permits and locks with an `owner` wait in the same order, and ask the store. The same target and
 * options give the same cohort until it is disposed of. A cohort can be neither the target of another cohort nor a node
 * of Redlock.
 *
 * @example
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { cohort } from "@holdfast/lock/cohort";
 * import { memory } from "@holdfast/lock/memory";
 *
 * await using store = cohort(memory(), { keep: 10 });
 * await using lock = await acquire(store, "invoice:42");
 * ```
 *
 * @param target a store; a Redis client; or an array of clients of independent servers (Redlock)
 * @param options for how long the process hands the lock on, and keeps it while no handle holds it
 * @throws {TypeError} when the target is of the wrong kind or a cohort, or an option is unknown or of the wrong type
 * @throws {RangeError} when a number is out of range
 */
export function cohort(target: LockTarget, options: CohortOptions = {}): Cohort {
  const settings = checkCohortOptions(options);
  if (target instanceof HandoffCohort) {
    throw new TypeError("target must not be a cohort: give cohort() what that was made of");
  }
  const parts = partsOf(target);
  const known = (made.get(parts[0]!) ?? []).filter(({ cohort }) => !cohort.stopped);
  const alike = known.filter((each) =>
    each.parts.length === parts.length && each.parts.every((part, i) => part === parts[i])
  );
  const same = alike.find((each) => each.settings.keep === settings.keep && each.settings.linger === settings.linger);
  if (same !== undefined) return same.cohort;
  const store = alike[0]?.store ?? storeOf(target);
  const [kept, place] = store instanceof HandoffStore ? [store.target, store.place] : [store, undefined];
  const cohort = new HandoffCohort(kept, new SystemClock(), settings, place);
  made.set(parts[0]!, [...known, { parts, settings, store, cohort }]);
  return cohort;
}

function storeOf(target: LockTarget): Store {
  if (Array.isArray(target)) return redlock(target);
  if (looksLikeStore(target)) return target as Store;
  if (looksLikeClient(target)) return redis(target as RedisClient);
  throw new TypeError(
    `target must be a Store, a Redis client, or an array of such clients: got ${describeMistake(target)}`,
  );
}

export class HandoffCohort extends HandoffStore implements Cohort {
  #disposing: Promise<void> | undefined;

  [Symbol.asyncDispose](): Promise<void> {
    return this.#disposing ??= this.stop();
  }
}

interface Made {
  readonly parts: readonly object[];
  readonly settings: HandoffSettings;
  /** The store of these parts: cohorts with other options know of each other through it. */
  readonly store: Store;
  readonly cohort: HandoffCohort;
}

/**
 * The cohorts of each target, by the store, the client or the first client. The same target and options give the same
 * cohort, since two cohorts do not share a queue.
 */
const made = new WeakMap<object, Made[]>();

function partsOf(target: LockTarget): readonly object[] {
  // An empty array is no target: whoever makes the store of it refuses it.
  return Array.isArray(target) && target.length > 0 ? target : [target];
}
