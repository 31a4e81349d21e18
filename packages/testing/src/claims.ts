import type { Attempt, AttemptOptions, Claim, Conflict, Kind, Lock } from "@holdfast/lock";
import { check, claimOf, limits, LONG_MS, waiting } from "./expect.ts";
import type { StoreFixture } from "./fixture.ts";

/** An attempt that leaves the queue alone. */
export const TRY: AttemptOptions = { enqueue: false };

/** An attempt that queues. */
export const QUEUE: AttemptOptions = { enqueue: true };

/** Returns a shared claim. */
export function share(name: string, lease = LONG_MS): Claim {
  return { ...claimOf(name, lease), mode: "shared" };
}

/** Returns a claim for one of `permits` permits. */
export function permit(name: string, permits: number, lease = LONG_MS): Claim {
  return { ...claimOf(name, lease), permits };
}

/** Returns a claim of a handle of an owner. */
export function owned(name: string, owner: string, lease = LONG_MS): Claim {
  return { ...claimOf(name, lease), owner, handle: `${owner}/${crypto.randomUUID()}` };
}

/** Checks that an attempt found a conflict, and returns it. */
export function conflict(attempt: Attempt): Conflict {
  check(!attempt.granted && "conflict" in attempt, "the attempt finds a conflict, and is not granted");
  return attempt.conflict;
}

/** Makes waiters of these kinds, one after the other in the queue. */
export async function enqueueInOrder(
  fixture: StoreFixture,
  name: string,
  kinds: Kind[],
  owner?: string,
): Promise<Promise<Lock>[]> {
  const locks: Promise<Lock>[] = [];
  for (const kind of kinds) {
    const what = typeof kind === "number" ? { permits: kind } : { mode: kind };
    // Waiters that a failed behaviour leaves then end by themselves.
    const options = { ...what, owner, lease: limits.hang, renew: false, wait: limits.hang };
    const { lock, queued } = waiting(await fixture.connect(), name, options);
    lock.catch(() => {});
    locks.push(lock);
    await Promise.race([queued, lock]);
  }
  return locks;
}
