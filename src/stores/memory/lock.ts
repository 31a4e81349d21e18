import { elapsed, type Instant } from "../../time/clock.ts";
import { LockRecord, type RecordHolder, type RecordWaiter } from "../../rules/lock_record.ts";
import { type Claim, handleOf, type Meta } from "../../contract/store.ts";

/** The longest time between two attempts of a waiter, in milliseconds. */
export const RETRY_MS = 200;

/** How long a waiter may neither sleep nor ask before it is dead, in milliseconds. */
export const DEAD_MS = 3 * RETRY_MS;

/** A handle that holds a lock. Its lease lasts `lease` milliseconds from `since`. */
export interface MemoryHolder extends RecordHolder<MemoryWaiter> {
  since: Instant;
  lease: number;
  /** The largest number of an executed renewal. */
  renewal: number;
  /** Called when the lock is revoked, with the `meta` of the revoker. */
  revoked: ((by: Meta | undefined) => void) | undefined;
}

/** A handle that is in the queue of a lock. It keeps its ticket if a run takes it out of the queue. */
export interface MemoryWaiter extends RecordWaiter {
  /** When it last asked, or stopped sleeping. */
  activeAt: Instant;
  /** Wakes it, while it sleeps in `wakeup()`. */
  wake: (() => void) | undefined;
}

/** The holders of one lock and its queue, with the times by which leases end and waiters are dead. */
export class MemoryLock extends LockRecord<MemoryHolder, MemoryWaiter> {
  /** The waiters that runs have taken out of the queue, by the ids of their handles: they may come back. */
  readonly taken: Map<string, MemoryWaiter> = new Map();

  /** Whether the lock has neither holders nor waiters. */
  get unused(): boolean {
    return this.holders.size === 0 && this.queue.length === 0 && this.taken.size === 0;
  }

  deleteExpired(now: Instant): void {
    for (const [handle, holder] of this.holders) if (leftOf(holder, now) <= 0) this.holders.delete(handle);
  }

  /** Makes the claim's handle a holder. A lease that ends later is kept: its holder trusts it already. */
  grant(claim: Claim, fence: bigint | undefined, now: Instant, run: readonly MemoryWaiter[] = []): void {
    const { lease, renewal = 0 } = claim;
    this.dequeue(claim);
    for (const waiter of run) this.taken.set(handleOf(waiter.claim), waiter);
    const holder = this.holders.get(handleOf(claim));
    if (holder === undefined) {
      const start = { grantedAt: now.wall, since: now };
      this.holders.set(handleOf(claim), { claim, ...start, lease, fence, renewal, run, revoked: undefined });
      return;
    }
    // An attempt may be executed twice, and late.
    holder.lease = Math.max(lease, leftOf(holder, now));
    holder.since = now;
    holder.claim = claim;
    holder.fence = fence;
    holder.renewal = Math.max(holder.renewal, renewal);
    if (run.length > 0) holder.run = run;
  }

  /** Removes the claim's handle from the queue, and drops its place. Returns whether it was present. */
  override dequeue(claim: Claim): boolean {
    this.taken.delete(handleOf(claim));
    return super.dequeue(claim);
  }

  /** Returns for how long the newest holder has held the lock, in milliseconds; `undefined` if a waiter is ahead. */
  heldFor(claim: Claim, now: Instant): number | undefined {
    const alive = aliveAt(now);
    const ahead = this.queue.find((waiter) => alive(waiter) || handleOf(waiter.claim) === handleOf(claim));
    if (ahead !== undefined && handleOf(ahead.claim) !== handleOf(claim)) return undefined;
    return Math.max(0, now.wall - Math.max(...Array.from(this.holders.values(), ({ grantedAt }) => grantedAt)));
  }
}

/** Returns how much is left of a lease, in milliseconds. */
export function leftOf({ since, lease }: MemoryHolder, now: Instant): number {
  return lease - elapsed(since, now);
}

/** Returns a function that tells whether a waiter is alive: it sleeps, or was not silent for long. */
export function aliveAt(now: Instant): (waiter: MemoryWaiter) => boolean {
  return ({ wake, activeAt }) => wake !== undefined || elapsed(activeAt, now) < DEAD_MS;
}
