import type { Lock } from "../lock.ts";
import type { Attempt, AttemptOptions, Claim, Conflict, Kind } from "../store.ts";
import { check, claimOf, GRACE_MS, LONG_MS, waiting } from "./expect.ts";
import type { StoreFixture } from "./fixture.ts";

/** An attempt that leaves the queue alone. */
export const TRY: AttemptOptions = { enqueue: false };

/** An attempt that queues. */
export const QUEUE: AttemptOptions = { enqueue: true };

/** Returns a shared claim. */
export function share(name: string, lease = LONG_MS): Claim {
  return { ...claimOf(name, lease), mode: "shared" };
}

/** Returns a claim for one of so many permits. */
export function permit(name: string, permits: number, lease = LONG_MS): Claim {
  return { ...claimOf(name, lease), permits };
}

/** Returns a claim of a handle of an owner. */
export function owned(name: string, owner: string, lease = LONG_MS): Claim {
  return { ...claimOf(name, lease), owner, handle: `${owner}/${crypto.randomUUID()}` };
}

/** Checks that an attempt found a conflict, and returns it. */
export function conflict(attempt: Attempt): Conflict {
  check("conflict" in attempt, "the attempt finds a conflict");
  return attempt.conflict;
}

/** Makes waiters of these kinds. Each is in the queue before the next one asks. */
export async function enqueueInOrder(
  fixture: StoreFixture,
  name: string,
  kinds: Kind[],
  owner?: string,
): Promise<Promise<Lock>[]> {
  const locks: Promise<Lock>[] = [];
  for (const kind of kinds) {
    const what = typeof kind === "number" ? { permits: kind } : { mode: kind };
    // So that those that a failed behaviour leaves end by themselves.
    const options = { ...what, owner, lease: GRACE_MS, renew: false, wait: GRACE_MS };
    const { lock, queued } = waiting(await fixture.connect(), name, options);
    lock.catch(() => {});
    locks.push(lock);
    await Promise.race([queued, lock]);
  }
  return locks;
}
