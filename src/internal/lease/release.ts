import { backoffMs } from "../time/backoff.ts";
import { type Clock, elapsed, type Instant } from "../time/clock.ts";
import { isPermanent } from "../failure.ts";
import { notify } from "../process/notify.ts";
import type { Claim, Store } from "../../store.ts";

/**
 * How long a release is tried, in milliseconds. Longer than a Sentinel failover (2 s with the usual settings), so that
 * the next waiter rarely has to wait for the lease to end; short enough not to hold up a process that shuts down.
 */
export const RELEASE_LIMIT_MS = 5_000;

/** When it is tried for the last time, in milliseconds: the answer usually comes before the limit. */
const LAST_TRY_MS = RELEASE_LIMIT_MS - 100;

/** The pauses after a release that failed, in milliseconds: the first one and the longest one. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;

/** The reason that {@linkcode within} rejects with when its time is over. */
export const LATE: unique symbol = Symbol("late");

/**
 * Releases a claim, and retries while the store fails, for at most {@linkcode RELEASE_LIMIT_MS}. Resolves to whether the
 * handle still held the lock. Rejects with the last fault when that is not known. Hangs when the store does. Each fault
 * is passed to `note`. Takes no signal: the caller's signal may be the reason for the release.
 */
export async function releaseWithRetry(
  store: Store,
  claim: Claim,
  clock: Clock,
  note?: (fault: unknown) => void,
): Promise<boolean> {
  let failingSince: Instant | undefined;
  for (let retries = 0;; retries++) {
    try {
      const released = await store.release(claim);
      // After a failure the lock may be gone because that call released it and only its reply was lost.
      return released || failingSince !== undefined;
    } catch (error) {
      note?.(error);
      failingSince ??= clock.now();
      notify(store, claim, { type: "fault", operation: "release", error });
      const left = LAST_TRY_MS - elapsed(failingSince, clock.now());
      if (store.closed || isPermanent(error) || left <= 0) throw error;
      await clock.sleep(Math.min(backoffMs(retries, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), left));
    }
  }
}

/**
 * Settles like the promise, or rejects with {@linkcode LATE} `ms` milliseconds after a moment, by default this one. What
 * becomes of the promise then is ignored.
 */
export function within<T>(ms: number, promise: Promise<T>, clock: Clock, from?: Instant): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.timer(ms, () => reject(LATE), from);
    promise.then((value) => {
      timer.cancel();
      resolve(value);
    }, (error) => {
      timer.cancel();
      reject(error);
    });
  });
}
