import type { Instant } from "./clock.ts";
import type { ProcessLease } from "./process_lease.ts";
import { type Claim, handleOf } from "../store.ts";

/** A handle of this process that waits, and may become a member of a run. */
export class RunWaiter {
  readonly claim: Claim;
  /** The run that it is a member of. */
  run: Run | undefined;
  /** Its fence in that run. */
  fence = 0n;
  /** When it attempted for the first time. */
  since: Instant | undefined;
  /** The number of its last attempt, among all that were sent. */
  asked = 0;
  /** How many of its attempts the store has not answered. */
  asking = 0;
  /** Settles when the store has answered its last attempt, or that has failed. */
  answered: Promise<unknown> = Promise.resolve();
  /** Whether the store may have put it into the queue again after it was removed as a member. */
  queued = false;
  /** Whether one of its attempts has failed: the store may have granted the lock and a run, and the reply was lost. */
  failed = false;
  /** Whether it does not wait any more: it was granted the lock, or has given up. */
  settled = false;
  /** Whether it has given up. */
  left = false;
  /** Whether it pauses after a failed attempt: nothing wakes it before it attempts again. */
  pausing = false;
  #wake: (() => void) | undefined;
  /** Whether it was woken while it did not sleep, and has not attempted since. */
  #woken = false;

  /** Makes a waiter for a handle that is about to attempt. */
  constructor(claim: Claim) {
    this.claim = claim;
  }

  /** Whether it is its turn to have the lock. */
  get hasTurn(): boolean {
    return this.run !== undefined && this.run.turn === this;
  }

  /**
   * Has it become a member with that fence, by the answer to the attempt with that number. Returns none if it cannot: it
   * is a member already, or asks again by itself.
   */
  join(fence: bigint, number: number): RunWaiter[] {
    if (this.run !== undefined || this.pausing) return [];
    this.fence = fence;
    // It may have found out that it was taken out of the queue before this answer came.
    this.queued = this.failed || this.asking > 0 || this.asked > number;
    return [this];
  }

  /** Notes that it attempts. */
  attempts(): void {
    this.pausing = this.#woken = false;
  }

  /** Wakes it, so that it attempts: now if it sleeps, otherwise as soon as it would sleep. */
  wake(): void {
    if (this.#wake === undefined) this.#woken = true;
    else this.#wake();
  }

  /** Resolves when it is woken, when `other` does, or when the signal aborts. */
  sleep(other: Promise<void> | undefined, signal: AbortSignal): Promise<void> {
    this.pausing = false;
    // Its turn may have come between the attempt and this call.
    if (this.#woken || this.hasTurn || signal.aborted) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const done = () => {
        if (this.#wake === done) this.#wake = undefined;
        signal.removeEventListener("abort", done);
        resolve();
      };
      signal.addEventListener("abort", done);
      this.#wake = done;
      other?.then(done, reject);
    });
  }
}

/** A lock that this process hands on from handle to handle, under the lease that was granted to the first of them. */
export class Run {
  readonly lease: ProcessLease;
  /** The claim of the handle that holds the lock; `undefined` while the next one has not attempted yet. */
  holder: Claim | undefined;
  /** The fence of that handle. */
  fence: bigint;
  /** The fence of the first handle, under which the store has the lock. */
  readonly firstFence: bigint;
  /** When the store granted the lock to the first handle. */
  readonly startedAt: Instant;
  /** Since when the present holder has the lock. */
  since: Instant;
  /** The member that is to hold the lock next, until it has attempted. */
  turn: RunWaiter | undefined;
  /** The members after that one. */
  #members: RunWaiter[];

  /** Begins with a grant at that moment: to a handle, which has this fence, and to the members that follow it. */
  constructor(lease: ProcessLease, fence: bigint, members: readonly RunWaiter[], now: Instant) {
    this.lease = lease;
    this.holder = lease.claim;
    this.fence = this.firstFence = fence;
    this.startedAt = this.since = now;
    this.#members = [...members];
    for (const member of members) member.run = this;
  }

  /** The members that have not held the lock yet, in their order. */
  get waiters(): readonly RunWaiter[] {
    return this.turn === undefined ? this.#members : [this.turn, ...this.#members];
  }

  /** Returns whether the store knows this handle as the holder although the process has handed the lock on. */
  hasHandedOn(claim: Claim): boolean {
    const is = (other: Claim | undefined) => other !== undefined && handleOf(other) === handleOf(claim);
    return is(this.lease.claim) && !is(this.holder);
  }

  /** Makes it the turn of the next member. Returns whether there is one. */
  next(): boolean {
    do {
      if (this.turn !== undefined) this.turn.run = undefined;
      this.turn = this.#members.shift();
    } while (this.turn?.pausing);
    if (this.turn === undefined) return false;
    this.holder = undefined;
    this.turn.wake();
    return true;
  }

  /** Notes that the handle whose turn it is holds the lock from that moment on. */
  take(now: Instant): void {
    if (this.turn === undefined) return;
    this.since = now;
    this.holder = this.turn.claim;
    this.fence = this.turn.fence;
    this.turn = undefined;
  }

  /** Removes a member that has stopped waiting before its turn. */
  remove(member: RunWaiter): void {
    member.run = undefined;
    this.#members = this.#members.filter((other) => other !== member);
  }

  /** Ends it early: the members ask the store again, each with its former place in the queue. */
  end(): void {
    const members = this.waiters;
    this.turn = undefined;
    this.#members = [];
    for (const member of members) {
      member.run = undefined;
      member.wake();
    }
  }
}
