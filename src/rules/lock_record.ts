import { blockLength, joinsRun, takesRun, wishedFences } from "./group.ts";
import { isMeant, type Meant } from "../internal/listing/eviction.ts";
import { fits, type Occupancy, occupancyOf, ownerKey, permitsOf } from "./occupancy.ts";
import { type Claim, type Conflict, handleOf, kindOf } from "../contract/store.ts";

/** The longest run that one grant takes out of the queue. */
const RUN_LIMIT = 100;

/** A handle that holds a lock. */
export interface RecordHolder<W extends RecordWaiter = RecordWaiter> {
  claim: Claim;
  /** When the handle was granted the lock, in milliseconds since the Unix epoch. */
  readonly grantedAt: number;
  /** Its fence; `undefined` on a node of a quorum without a confirmed fence. */
  fence: bigint | undefined;
  /** The members of its run: the waiters that were taken out of the queue with it. */
  run: readonly W[];
}

/** A handle that is in the queue of a lock. */
export interface RecordWaiter {
  readonly claim: Claim;
  /** Its place: smaller than the place of every later waiter. */
  readonly ticket: number;
  /** When it entered the queue, in milliseconds since the Unix epoch. */
  readonly queuedAt: number;
}

/** A claim that can be granted. */
export interface Admission {
  readonly outcome: "free";
  /** The fence of the claim's owner, if the owner holds the lock already. */
  readonly ownFence: bigint | undefined;
  /** Whether it is the claim's turn, so that the first waiters of the queue directly follow it. */
  readonly next: boolean;
  /** Whether the present holders lose the lock. */
  readonly steals: boolean;
}

export type AdmissionDecision =
  | Admission
  | { readonly outcome: "busy" }
  | { readonly outcome: "conflict"; readonly conflict: Conflict };

/** The fences that were issued to a claim, and the run that is granted with it. */
export interface Issue<W extends RecordWaiter> {
  readonly fence: bigint;
  /** How many fences the claim has. */
  readonly fences: number;
  readonly run: readonly W[];
  /** The last fence that was issued. */
  readonly last: bigint;
}

/**
 * The holders of one lock and its queue: the rules of kinds, owners, the queue, runs and fences, for stores that keep a
 * lock as one object. The store decides when a lease ends and which waiters are dead.
 */
export class LockRecord<H extends RecordHolder<W>, W extends RecordWaiter> {
  readonly holders: Map<string, H> = new Map();
  /** The queue, first come, first served. */
  readonly queue: W[] = [];

  get occupancy(): Occupancy {
    return occupancyOf(this.holders.values());
  }

  waiter(claim: Claim): W | undefined {
    return this.queue.find((waiter) => handleOf(waiter.claim) === handleOf(claim));
  }

  enqueue(waiter: W): void {
    this.queue.push(waiter);
    this.queue.sort(byTicket);
  }

  /** Removes the claim's handle from the queue. Returns whether it was present. */
  dequeue(claim: Claim): boolean {
    const place = this.queue.findIndex((waiter) => handleOf(waiter.claim) === handleOf(claim));
    if (place >= 0) this.queue.splice(place, 1);
    return place >= 0;
  }

  /**
   * Decides whether a claim can be granted. Nothing is changed.
   *
   * @param asking the claim's handle as a waiter, with its place in the queue, or the place that it would get
   * @param known whether the handle is in the queue already
   */
  decide(claim: Claim, asking: W, known: boolean, steal: boolean, isAlive: (waiter: W) => boolean): AdmissionDecision {
    const present = this.occupancy.kind;
    const own = this.#holderOfOwner(claim);
    if (own !== undefined) {
      const fitsOwn = this.holders.has(handleOf(claim)) || present === "exclusive" || present === kindOf(claim);
      if (!fitsOwn) return { outcome: "conflict", conflict: { present, own: true } };
      return { outcome: "free", ownFence: own.fence, next: false, steals: false };
    }
    if (steal) return { outcome: "free", ownFence: undefined, next: false, steals: true };
    if (this.admissible(isAlive, asking).includes(asking)) {
      return { outcome: "free", ownFence: undefined, next: true, steals: false };
    }
    // A queued claim was no conflict when it came, and may be none again.
    if (!known && this.holders.size > 0 && permitsOf(present) !== permitsOf(kindOf(claim))) {
      return { outcome: "conflict", conflict: { present, own: false } };
    }
    return { outcome: "busy" };
  }

  /** Issues the fences of a claim that is granted now, and takes it out of the queue together with its run. */
  issue(claim: Claim, admission: Admission, last: bigint, now: number, isAlive: (waiter: W) => boolean): Issue<W> {
    const wish = wishedFences(claim);
    // A handle that asks again for several gets new ones: it is not known how many it had.
    const own = wish === 1 ? admission.ownFence : undefined;
    const fence = own ?? nextFence(last, now);
    this.dequeue(claim);
    const run = admission.next ? this.#takeRun(claim, blockLength(fence, RUN_LIMIT + 1, now) - 1, isAlive) : [];
    const fences = blockLength(fence, wish, now);
    return { fence, fences, run, last: own === undefined ? fence + BigInt(Math.max(fences - 1, run.length)) : last };
  }

  /** Deletes the selected holders, by default all, and returns them. */
  revoke(target: Meant = {}): H[] {
    const meant = [...this.holders].filter(([handle, { fence }]) => isMeant(target, { handle, fence }));
    for (const [handle] of meant) this.holders.delete(handle);
    return meant.map(([, holder]) => holder);
  }

  /**
   * Returns the waiters at the head of the queue that can hold the lock together, beside its holders. Dead waiters are
   * left out. The waiter `asking` counts at its place, even if it is not in the queue.
   */
  admissible(isAlive: (waiter: W) => boolean, asking?: W): W[] {
    const together = this.occupancy;
    const admissible: W[] = [];
    const absent = asking === undefined || this.queue.includes(asking) ? [] : [asking];
    for (const waiter of [...this.queue, ...absent].sort(byTicket)) {
      if (!isAlive(waiter)) continue;
      if (!fits(together, waiter.claim)) break;
      together.kind = kindOf(waiter.claim);
      together.ownerKeys.add(ownerKey(waiter.claim));
      admissible.push(waiter);
    }
    return admissible;
  }

  /** Returns the waiters that can hold the lock now: at the head of the queue, and other handles of its owners. */
  next(isAlive: (waiter: W) => boolean): W[] {
    const { ownerKeys } = this.occupancy;
    const admissible = new Set(this.admissible(isAlive));
    return this.queue.filter((waiter) => admissible.has(waiter) || ownerKeys.has(ownerKey(waiter.claim)));
  }

  /** Returns the members of a holder's run that have not queued again. */
  membersOf({ run }: H): W[] {
    return run.filter(({ claim }) => this.waiter(claim) === undefined);
  }

  #holderOfOwner(claim: Claim): H | undefined {
    for (const holder of this.holders.values()) if (ownerKey(holder.claim) === ownerKey(claim)) return holder;
    return undefined;
  }

  /** Takes the waiters out of the queue that directly follow a granted claim and belong to its group. */
  #takeRun(claim: Claim, limit: number, isAlive: (waiter: W) => boolean): W[] {
    const run: W[] = [];
    if (!takesRun(claim)) return run;
    for (const waiter of this.queue) {
      if (!isAlive(waiter)) continue;
      if (run.length === limit || !joinsRun(waiter.claim, claim)) break;
      run.push(waiter);
    }
    for (const waiter of run) this.dequeue(waiter.claim);
    return run;
  }
}

/**
 * Returns the first fence after `last`: microseconds of the clock, so that fences rise even if the last fence is lost.
 */
function nextFence(last: bigint, now: number): bigint {
  const microseconds = BigInt(Math.floor(now * 1000));
  return microseconds > last ? microseconds : last + 1n;
}

function byTicket(a: RecordWaiter, b: RecordWaiter): number {
  return a.ticket - b.ticket;
}
