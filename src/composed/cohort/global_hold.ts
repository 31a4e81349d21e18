import { elapsed, type Instant, type Timer } from "../../internal/clock.ts";
import { ProcessLease } from "../../internal/process_lease.ts";
import type { Attempt, Claim, Granted } from "../../store.ts";
import type { Refusal } from "./ask.ts";
import { type LocalWaiter, RETRY_MS } from "./local_queue.ts";
import type { Site } from "./site.ts";

/** A handle of this process that has the lock, under the lease of the process. */
export interface LocalHolder {
  readonly claim: Claim;
  readonly hold: GlobalHold;
  readonly fence: bigint;
  /** When it was granted the lock. */
  readonly since: Instant;
  /** The largest number of a renewal of the handle. */
  renewal: number;
  /** Whether it was released: from then on its section is over. */
  released: boolean;
}

/** The lock as the process has it: one lease in the store, and the fences that were reserved with it. */
export class GlobalHold {
  readonly lease: ProcessLease;
  /** When the store's grant came. */
  readonly since: Instant;
  /** Whether others wait for the lock in the store, as far as is known. */
  contended: boolean;
  /** Whether the process may hand it on. */
  open = true;
  /** The handle that has the lock. */
  holder: LocalHolder | undefined;
  /** The waiter whose turn it is, until it claims the lock. */
  next: LocalWaiter | undefined;
  /** Since when it has been the turn of that waiter or, without one, since when nobody has had the lock. */
  idleSince: Instant;
  /** Whether the process is in its linger loop. */
  lingering = false;
  /** Whether it is given back in the background. */
  abandoned = false;
  /** The timer of its next check. */
  timer: Timer | undefined;
  readonly #site: Site;
  #ended: AbortController | undefined;
  #nextFence: bigint;
  readonly #lastFence: bigint;

  /** Begins with the grant, which was asked for at that moment, and has come now. */
  constructor(site: Site, claim: Claim, granted: Granted, sentAt: Instant, now: Instant) {
    const { fence, fences = 1, age, contended = false } = granted;
    this.#site = site;
    this.lease = new ProcessLease(site.store, claim, sentAt, site.clock, age);
    this.since = this.idleSince = now;
    this.contended = contended;
    this.#nextFence = fence;
    this.#lastFence = fence + BigInt(fences - 1);
  }

  /** Aborts when the process has nothing to do with the hold any more. */
  get signal(): AbortSignal {
    this.#ended ??= new AbortController();
    return this.#ended.signal;
  }

  /** Whether no handle has the lock, and it is nobody's turn. */
  get idle(): boolean {
    return this.holder === undefined && this.next === undefined;
  }

  /** Returns for how long the process may keep it, in milliseconds; not above 0 when it must go back. */
  left(now: Instant): number {
    if (!this.open || this.#nextFence > this.#lastFence || this.lease.over) return 0;
    return this.#site.settings.keep - elapsed(this.since, now);
  }

  /** Returns the next fence. It must only be called while one is left. */
  takeFence(): bigint {
    return this.#nextFence++;
  }

  /** Ends what goes on for its sake: the process does not hand it on any more. */
  close(): void {
    this.open = false;
    this.next = undefined;
    this.timer?.cancel();
    this.timer = undefined;
    this.#ended?.abort("ended");
  }
}

/** Returns the answer for a holder, to an attempt that was made at that moment. */
export function grantOf({ hold, fence }: LocalHolder, calledAt: Instant): Attempt {
  const age = elapsed(hold.lease.sentAt, calledAt);
  return age > 0 ? { granted: true, fence, age } : { granted: true, fence };
}

/** Returns the answer while the lock is busy: it makes sense to ask again when the lease of the process ends. */
export function busy(hold: GlobalHold | undefined): Refusal {
  const left = hold === undefined ? RETRY_MS : hold.lease.claim.lease - hold.lease.age;
  return { granted: false, retryAfter: Math.max(1, Math.min(RETRY_MS, left)) };
}
