import type { Claim, Renewal, Store } from "./store.ts";
import { backoffMs, type Clock, type Instant, monotonicMs, overdue } from "../time/clock.ts";
import { isPermanent } from "../internal/failure.ts";
import { notify } from "../internal/process/notify.ts";

/** How a renewal ended, as the holder sees it: `unknown` after an error or a time-out. */
export type RenewalOutcome = Renewal | "unknown";

/**
 * Returns the claim with a lease of another length. From then on its renewals are numbered: a renewal of another
 * length, sent twice, may reach the store after a later renewal. Renewals of one length need no number: in any order,
 * the lease ends no earlier than the holder believes.
 */
export function resized(claim: Claim, lease: number): Claim {
  const { renewal = lease === claim.lease ? undefined : 0 } = claim;
  return { ...claim, lease, renewal };
}

/** Returns the claim with the number of its next renewal, if its renewals are numbered. */
export function numbered(claim: Claim): Claim {
  return claim.renewal === undefined ? claim : { ...claim, renewal: claim.renewal + 1 };
}

/**
 * How long a release is retried, in milliseconds. Longer than a Sentinel failover (2 s with the usual settings), so
 * that the next waiter rarely has to wait for the end of the lease; short enough not to delay a process that shuts
 * down.
 */
export const RELEASE_LIMIT_MS = 5_000;

/** When the last try of a release begins, in milliseconds: its answer usually comes before the limit. */
const LAST_TRY_MS = RELEASE_LIMIT_MS - 100;

/** The pauses after a failed release, in milliseconds: the first and the longest. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;

/** The reason that {@linkcode within} rejects with when its time is over. */
export const LATE: unique symbol = Symbol("late");

/**
 * Releases a claim, and retries while the store fails, for at most {@linkcode RELEASE_LIMIT_MS}. Resolves to whether
 * the handle still held the lock. Rejects with the last fault when the outcome is not known. Hangs when the store
 * hangs. Adds each fault to `faults`. Takes no signal: the caller's signal may be the reason for the release.
 *
 * @param last the renewal to send instead, where the lock is left to its lease
 * @param after a promise to await first, which does not reject
 */
export async function releaseWithRetry(
  store: Store,
  claim: Claim,
  clock: Clock,
  faults?: unknown[],
  last?: Claim,
  after?: Promise<unknown>,
): Promise<boolean> {
  if (after !== undefined) await after;
  let failingSince: Instant | undefined;
  for (let retries = 0;; retries++) {
    try {
      const released = last === undefined ? await store.release(claim) : await store.renew(last) === "renewed";
      if (last !== undefined) store.forget?.(last);
      // After a failure the lock may be gone because that call released it and only its reply was lost.
      return released || failingSince !== undefined;
    } catch (error) {
      faults?.push(error);
      failingSince ??= clock.now();
      notify(store, claim, { type: "fault", operation: "release", error });
      const left = LAST_TRY_MS - monotonicMs(failingSince, clock.now());
      if (store.closed || isPermanent(error) || left <= 0) throw error;
      await clock.sleep(Math.min(backoffMs(retries, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), left));
    }
  }
}

/**
 * Settles like the promise, or rejects with {@linkcode LATE} when it is {@linkcode overdue}, by default from now on. A
 * later outcome of the promise is ignored.
 */
export function within<T>(ms: number, promise: Promise<T>, clock: Clock, from?: Instant): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = overdue(ms, () => reject(LATE), clock, from);
    const timely = <V>(settle: (value: V) => void) => (value: V) => {
      timer.cancel();
      settle(value);
    };
    promise.then(timely(resolve), timely(reject));
  });
}
