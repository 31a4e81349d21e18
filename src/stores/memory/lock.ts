import { elapsed, type Instant } from "../../internal/time/clock.ts";
import { joinsRun, takesRun } from "../../internal/handoff/group.ts";
import { isMeant, type Meant } from "../../internal/listing/eviction.ts";
import { readMeta } from "../../internal/process/meta.ts";
import { ownerKey } from "../../internal/owner_key.ts";
import { type Claim, handleOf, kindOf, type Meta } from "../../store.ts";
import { fits, type Occupancy, occupancyOf } from "./occupancy.ts";

/** The longest time between two attempts of a waiter, in milliseconds. */
export const RETRY_MS = 200;

/** A waiter that has neither slept nor asked for so many milliseconds is dead. */
export const DEAD_MS = 3 * RETRY_MS;

/** A handle that holds a lock. Its lease lasts `lease` milliseconds from `since`. */
export interface Holder {
  claim: Claim;
  /** When it was granted the lock, in milliseconds since the Unix epoch. */
  readonly grantedAt: number;
  since: Instant;
  lease: number;
  /** Its fence; `undefined` on a node of a quorum that has not confirmed one. */
  fence: bigint | undefined;
  /** The largest number of a renewal that was executed. */
  renewal: number;
  /** The waiters that were taken out of the queue with it: the members of its run. */
  run: readonly MemoryWaiter[];
  /** Called when the lock is revoked, with the `meta` of the revoker. */
  revoked: ((by: Meta | undefined) => void) | undefined;
}

/** A handle that is in the queue of a lock. */
export interface MemoryWaiter {
  readonly claim: Claim;
  /** Its place: smaller than that of everybody who came later. It keeps that if a run takes it out of the queue. */
  readonly ticket: number;
  /** When it entered the queue, in milliseconds since the Unix epoch. */
  readonly queuedAt: number;
  /** When it last asked. */
  asked: Instant;
  /** Wakes it, while it sleeps in `wakeup()`. */
  wake: (() => void) | undefined;
}

/** The holders of one lock and its queue. */
export class MemoryLock {
  /** By the ids of their handles. */
  readonly holders: Map<string, Holder> = new Map();
  /** First come, first served. */
  readonly queue: MemoryWaiter[] = [];
  /** The waiters that runs have taken out of the queue, by the ids of their handles: they may come back, or have done so. */
  readonly taken: Map<string, MemoryWaiter> = new Map();

  /** Whether nobody holds the lock or waits for it. */
  get unused(): boolean {
    return this.holders.size === 0 && this.queue.length === 0 && this.taken.size === 0;
  }

  /** How the lock is held. */
  get occupancy(): Occupancy {
    return occupancyOf(this.holders.values());
  }

  /** Deletes the holders whose leases have ended. */
  deleteExpired(now: Instant): void {
    for (const [handle, { since, lease }] of this.holders) {
      if (elapsed(since, now) >= lease) this.holders.delete(handle);
    }
  }

  /** Makes the claim's handle a holder. A lease that ends later is kept: its holder trusts it already. */
  grant(claim: Claim, fence: bigint | undefined, now: Instant): void {
    const { lease, renewal = 0 } = claim;
    const holder = this.holders.get(handleOf(claim));
    if (holder === undefined) {
      const start = { grantedAt: now.wall, since: now };
      this.holders.set(handleOf(claim), { claim, ...start, lease, fence, renewal, run: [], revoked: undefined });
      return;
    }
    // An attempt may be executed twice, and late.
    holder.lease = Math.max(lease, holder.lease - elapsed(holder.since, now));
    holder.since = now;
    holder.claim = claim;
    holder.fence = fence;
    holder.renewal = Math.max(holder.renewal, renewal);
  }

  /** Returns a holder of the claim's owner, if there is one. */
  holderOfOwner(claim: Claim): Holder | undefined {
    return [...this.holders.values()].find((holder) => ownerKey(holder.claim) === ownerKey(claim));
  }

  /** Takes the lock from all its holders, or from those that are meant, and notifies them. Returns how many they are. */
  revoke(by: string | undefined, target: Meant = {}): number {
    const meant = [...this.holders].filter(([handle, { fence }]) => isMeant(target, { handle, fence }));
    for (const [handle, { revoked }] of meant) {
      this.holders.delete(handle);
      revoked?.(readMeta(by));
    }
    return meant.length;
  }

  /** Returns the claim's handle in the queue, if it is there. */
  waiter(claim: Claim): MemoryWaiter | undefined {
    return this.queue.find((waiter) => handleOf(waiter.claim) === handleOf(claim));
  }

  /** Puts a waiter into the queue, at its place. */
  enqueue(waiter: MemoryWaiter): void {
    this.queue.push(waiter);
    this.queue.sort(byTicket);
  }

  /** Takes the waiters out of the queue that directly follow a claim which is granted now, and are of its group. */
  takeRun(claim: Claim, now: Instant, limit: number): MemoryWaiter[] {
    const run: MemoryWaiter[] = [];
    if (!takesRun(claim)) return run;
    for (const waiter of this.queue) {
      if (isDead(waiter, now)) continue;
      if (run.length === limit || !joinsRun(waiter.claim, claim)) break;
      run.push(waiter);
    }
    for (const waiter of run) {
      this.dequeue(waiter.claim);
      this.taken.set(handleOf(waiter.claim), waiter);
    }
    return run;
  }

  /** Returns the members of the run of a holder that are not in the queue again. */
  membersOf({ run }: Holder): MemoryWaiter[] {
    return run.filter(({ claim }) => this.waiter(claim) === undefined);
  }

  /** Removes the claim's handle from the queue, and forgets its place. Returns whether it was there. */
  dequeue(claim: Claim): boolean {
    this.taken.delete(handleOf(claim));
    const place = this.queue.findIndex((waiter) => handleOf(waiter.claim) === handleOf(claim));
    if (place >= 0) this.queue.splice(place, 1);
    return place >= 0;
  }

  /**
   * Returns the waiters at the head of the queue that can hold the lock together, beside its holders. Dead waiters are
   * left out. One that is not in the queue counts as if it were, at its place.
   */
  admissible(now: Instant, asking?: MemoryWaiter): MemoryWaiter[] {
    const together = this.occupancy;
    const admissible: MemoryWaiter[] = [];
    const absent = asking === undefined || this.queue.includes(asking) ? [] : [asking];
    for (const waiter of [...this.queue, ...absent].sort(byTicket)) {
      if (isDead(waiter, now)) continue;
      if (!fits(together, waiter.claim)) break;
      together.kind = kindOf(waiter.claim);
      together.ownerKeys.add(ownerKey(waiter.claim));
      admissible.push(waiter);
    }
    return admissible;
  }

  /**
   * Returns for how long the lock has been held, in milliseconds, since the last of its holders was granted it;
   * `undefined` if a living waiter is ahead of the claim's handle.
   */
  heldFor(claim: Claim, now: Instant): number | undefined {
    const ahead = this.queue.find((waiter) => !isDead(waiter, now) || handleOf(waiter.claim) === handleOf(claim));
    if (ahead !== undefined && handleOf(ahead.claim) !== handleOf(claim)) return undefined;
    return Math.max(0, now.wall - Math.max(...Array.from(this.holders.values(), ({ grantedAt }) => grantedAt)));
  }

  /** Wakes the waiters that can hold the lock now: those at the head of the queue, and other handles of its owners. */
  wakeNext(now: Instant): void {
    const { ownerKeys } = this.occupancy;
    const admissible = new Set(this.admissible(now));
    for (const waiter of this.queue) {
      if (admissible.has(waiter) || ownerKeys.has(ownerKey(waiter.claim))) waiter.wake?.();
    }
  }
}

/** Returns whether a waiter was silent for so long that it is dead. */
export function isDead({ wake, asked }: MemoryWaiter, now: Instant): boolean {
  return wake === undefined && elapsed(asked, now) >= DEAD_MS;
}

function byTicket(a: MemoryWaiter, b: MemoryWaiter): number {
  return a.ticket - b.ticket;
}
