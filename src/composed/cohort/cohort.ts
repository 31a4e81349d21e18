import { SystemClock } from "../../internal/time/clock.ts";
import { HandoffStore } from "../../internal/handoff/handoff_store.ts";
import type { HandoffSettings } from "../../internal/handoff/context.ts";
import { describeMistake, looksLikeClient, looksLikeStore } from "../../internal/mistaken_target.ts";
import type { Store } from "../../store.ts";
import type { RedisClient } from "../../stores/redis/clients/client.ts";
import { redis } from "../../stores/redis/mod.ts";
import type { LockTarget } from "../../target.ts";
import { redlock } from "../redlock/mod.ts";
import { checkCohortOptions, type CohortOptions } from "./options.ts";

/** A store made of another one, see {@linkcode cohort}. Disposing of the cohort does not close the other store. */
export interface Cohort extends Store, AsyncDisposable {
  /**
   * Gives back the locks that no handle holds. Locks that are held stay held, and waiters go on waiting in the store. Waits
   * until the store has answered the requests that no caller awaits, for 5 s at most. Later calls go to the store as they are.
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Returns a store that hands a lock on among the handles of this process for `keep` milliseconds, ahead of the waiters of
 * other processes. One handle at a time asks for the lock and the others sleep, so that a lock that many handles want costs
 * a request now and then. It also may keep a lock for the next handle while none holds it, with `linger`.
 *
 * **Waiting is not strictly first come, first served.** For `keep` milliseconds after a grant, the handles of this process
 * come before all other waiters. Then the process queues at the end. A waiter of another process waits at most `keep`, one
 * section and one renewal for each process with a cohort that is ahead of it. With `linger` the process also keeps a lock
 * for a moment that no handle holds: see {@linkcode CohortOptions.linger} for when not to use that.
 *
 * A handle that is alone with its name goes to the store as without a cohort, unless the process lingers.
 *
 * `query()` lists the handles of this process. To other processes the store lists, until the lock goes back, the handle that
 * it was granted to.
 *
 * Fences rise from handle to handle. They are reserved together with the grant; on a store that reserves none each handle
 * asks for itself. After `steal`, `evict` or a failover elsewhere the process may hand the lock on until it is notified, for
 * `keep` at most; the fence orders those handles. `steal` and `evict` of this process end that at once. Only the last
 * release asks the store, and so only that one reports a loss of which the process was not notified.
 *
 * Shared locks, permits and locks with an `owner` wait in the same order, and ask the store. The same target and options
 * give the same cohort until it is disposed of. A cohort can be neither the target of another cohort nor a node of Redlock.
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
  return cohortOf(target, settings, () => {
    const store = storeOf(target);
    return store instanceof HandoffStore
      ? new HandoffCohort(store.target, new SystemClock(), settings, store)
      : new HandoffCohort(store, new SystemClock(), settings);
  });
}

function storeOf(target: LockTarget): Store {
  if (Array.isArray(target)) return redlock(target);
  if (looksLikeStore(target)) return target as Store;
  if (looksLikeClient(target)) return redis(target as RedisClient);
  throw new TypeError(
    `target must be a Store, a Redis client, or an array of such clients: got ${describeMistake(target)}`,
  );
}

/** The store of `cohort()`. */
export class HandoffCohort extends HandoffStore implements Cohort {
  #disposing: Promise<void> | undefined;

  [Symbol.asyncDispose](): Promise<void> {
    return this.#disposing ??= this.stop();
  }
}

/** A cohort, and what it was made of. */
interface Made {
  readonly parts: readonly object[];
  readonly settings: HandoffSettings;
  readonly cohort: HandoffCohort;
}

/**
 * The cohorts of each target, by the store, the client or the first client: who asks for the same target with the same
 * options gets the same cohort, since two cohorts do not share a queue.
 */
const made = new WeakMap<object, Made[]>();

/** Returns the cohort of a target; makes it if there is none. */
function cohortOf(target: LockTarget, settings: HandoffSettings, make: () => HandoffCohort): HandoffCohort {
  const parts = partsOf(target);
  const known = (made.get(parts[0]!) ?? []).filter(({ cohort }) => !cohort.stopped);
  const same = known.find((each) =>
    each.settings.keep === settings.keep && each.settings.linger === settings.linger &&
    each.parts.length === parts.length && each.parts.every((part, i) => part === parts[i])
  );
  if (same !== undefined) return same.cohort;
  const cohort = make();
  made.set(parts[0]!, [...known, { parts, settings, cohort }]);
  return cohort;
}

function partsOf(target: LockTarget): readonly object[] {
  // An empty array is no target: whoever makes the store of it refuses it.
  return Array.isArray(target) && target.length > 0 ? target : [target];
}
