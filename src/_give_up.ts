import { type Clock, elapsed, type Instant } from "./_clock.ts";
import { QuorumError, StoreError } from "./errors.ts";
import { tell } from "./observer.ts";
import type { Claim, Store } from "./store.ts";

/**
 * How long a release is tried, in milliseconds. Longer than a Sentinel failover (2 s with the usual settings), so that
 * the next waiter rarely has to wait for the lease to end; short enough not to hold up a process that shuts down.
 */
export const RELEASE_LIMIT = 5_000;

/** When it is tried for the last time, in milliseconds: what that says is heard before the limit. */
const LAST_TRY = RELEASE_LIMIT - 100;

/** The pauses after a release that failed, in milliseconds: the first one, doubled with every failure, and the longest. */
const PAUSES = [10, 500] as const;

/**
 * Releases a claim, trying again while the store fails, for at most {@linkcode RELEASE_LIMIT}. Resolves to whether the
 * lock was still this owner's; rejects with `StoreError` when that is not known; hangs when the store does. Takes no
 * signal: the caller's may be the reason why we are here.
 */
export async function giveUp(store: Store, claim: Claim, clock: Clock): Promise<boolean> {
  let failingSince: Instant | undefined;
  for (let pause: number = PAUSES[0];; pause = Math.min(pause * 2, PAUSES[1])) {
    try {
      const released = await store.release(claim);
      // After a failure the lock may be gone because that call released it and only its reply was lost.
      return released || failingSince !== undefined;
    } catch (error) {
      failingSince ??= clock.now();
      const { name, owner } = claim;
      tell(store.observer, { type: "fault", name, owner, operation: "release", error });
      const left = LAST_TRY - elapsed(failingSince, clock.now());
      if (store.closed || left <= 0) {
        if (error instanceof QuorumError) throw error;
        throw new StoreError(`Cannot release lock "${name}": ${reason(error)}`, { cause: error });
      }
      await clock.sleep(Math.min(pause, left));
    }
  }
}

/** What an unknown error says. */
export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Settles like the promise, or rejects with what `late` makes after `ms` milliseconds; the promise then goes on unheard. */
export function within<T>(ms: number, promise: Promise<T>, late: () => Error, clock: Clock): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.timer(ms, () => reject(late()));
    promise.then((value) => {
      timer.cancel();
      resolve(value);
    }, (error) => {
      timer.cancel();
      reject(error);
    });
  });
}
