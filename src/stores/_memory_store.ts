import { type Clock, elapsed, type Instant } from "../_clock.ts";
import type { Observer } from "../observer.ts";
import {
  type Attempt,
  type AttemptOptions,
  type Claim,
  drift,
  type QuorumNode,
  type Renewal,
  type Vote,
  type VoteOptions,
} from "../store.ts";
import { Fences } from "./_memory_fences.ts";

/** The longest time between two attempts of a waiter, in milliseconds; after three of them it is taken for dead. */
const POLL = 200;

interface Lock {
  owner: string | undefined;
  /** The lease lasts `lease` milliseconds from `since`. */
  since: Instant;
  lease: number;
  /** First come, first served. */
  readonly queue: Waiter[];
}

interface Waiter {
  readonly owner: string;
  seen: Instant;
  wake: (() => void) | undefined;
}

/** The plainest store that keeps the contract. */
export class MemoryStore implements QuorumNode {
  readonly drift = drift;
  readonly observer: Observer | undefined;
  readonly #clock: Clock;
  readonly #locks = new Map<string, Lock>();
  readonly #fences = new Fences();

  /** Makes an empty store on a clock. */
  constructor(observer: Observer | undefined, clock: Clock) {
    this.observer = observer;
    this.#clock = clock;
  }

  /** The names that are held or waited for. */
  get names(): string[] {
    return [...this.#locks.keys()];
  }

  attempt(claim: Claim, { enqueue }: AttemptOptions): Promise<Attempt> {
    const busy = this.#take(claim, enqueue);
    if (busy !== undefined) return Promise.resolve(busy);
    const clock = BigInt(Math.floor(this.#clock.now().wall * 1000));
    const last = this.#fences.last(claim.name);
    const fence = clock > last ? clock : last + 1n;
    this.#fences.raise(claim.name, fence);
    return Promise.resolve({ granted: true, fence });
  }

  vote(claim: Claim, { enqueue, guess, maxClockSkew }: VoteOptions): Promise<Vote> {
    const busy = this.#take(claim, enqueue);
    if (busy !== undefined) return Promise.resolve(busy);
    const latest = BigInt(Math.floor((this.#clock.now().wall + maxClockSkew) * 1000));
    const raised = this.#fences.last(claim.name) < guess && guess <= latest;
    if (raised) this.#fences.raise(claim.name, guess);
    return Promise.resolve({ granted: true, counter: this.#fences.last(claim.name), raised });
  }

  confirm({ name, owner }: Claim, fence: bigint): Promise<boolean> {
    const confirmed = this.#holder(name) === owner && this.#fences.last(name) < fence;
    if (confirmed) this.#fences.raise(name, fence);
    return Promise.resolve(confirmed);
  }

  retake({ name, owner, lease }: Claim, fence: bigint): Promise<boolean> {
    if (this.#holder(name) !== undefined || this.#fences.last(name) !== fence) return Promise.resolve(false);
    const queue = this.#locks.get(name)?.queue ?? [];
    this.#locks.set(name, { owner, since: this.#clock.now(), lease, queue });
    return Promise.resolve(true);
  }

  /** Who holds a lock, if anybody does. */
  #holder(name: string): string | undefined {
    const lock = this.#locks.get(name);
    return lock === undefined || elapsed(lock.since, this.#clock.now()) >= lock.lease ? undefined : lock.owner;
  }

  /** Takes the lock; gives the answer when it is busy. */
  #take({ name, owner, lease }: Claim, enqueue: boolean): { granted: false; retryAfter: number } | undefined {
    const now = this.#clock.now();
    const lock = this.#locks.get(name) ?? { owner: undefined, since: now, lease, queue: [] };
    const left = lock.owner === undefined ? 0 : lock.lease - elapsed(lock.since, now);
    const place = lock.queue.findIndex((waiter) => waiter.owner === owner);
    // A waiter that sleeps in wakeup() is alive; one that neither sleeps nor asks is dead, and passed over.
    const ahead = lock.queue.slice(0, place < 0 ? undefined : place)
      .filter((waiter) => waiter.wake !== undefined || elapsed(waiter.seen, now) < 3 * POLL).length;
    if (lock.owner === owner && left > 0 || left <= 0 && ahead === 0) {
      if (place >= 0) lock.queue.splice(place, 1);
      Object.assign(lock, { owner, since: now, lease });
      this.#locks.set(name, lock);
      return undefined;
    }
    if (place >= 0) lock.queue[place]!.seen = now;
    else if (enqueue) {
      lock.queue.push({ owner, seen: now, wake: undefined });
      this.#locks.set(name, lock);
    }
    if (left <= 0) lock.queue[0]?.wake?.();
    return { granted: false, retryAfter: Math.max(1, Math.min(left, POLL)) };
  }

  renew({ name, owner, lease }: Claim): Promise<Renewal> {
    const now = this.#clock.now();
    const lock = this.#locks.get(name);
    if (lock?.owner !== owner || elapsed(lock.since, now) >= lock.lease) return Promise.resolve("lost");
    Object.assign(lock, { since: now, lease });
    return Promise.resolve("renewed");
  }

  release({ name, owner }: Claim): Promise<boolean> {
    const lock = this.#locks.get(name);
    if (lock === undefined) return Promise.resolve(false);
    const held = lock.owner === owner && elapsed(lock.since, this.#clock.now()) < lock.lease;
    const place = lock.queue.findIndex((waiter) => waiter.owner === owner);
    if (place >= 0) lock.queue.splice(place, 1);
    if (lock.owner === owner) lock.owner = undefined;
    if (lock.owner === undefined && lock.queue.length === 0) this.#locks.delete(name);
    if (lock.owner === undefined) lock.queue[0]?.wake?.();
    return Promise.resolve(held || place >= 0);
  }

  wakeup({ name, owner }: Claim, signal: AbortSignal): Promise<void> {
    const lock = this.#locks.get(name);
    const waiter = lock?.queue.find((waiter) => waiter.owner === owner);
    return new Promise((resolve) => {
      const done = () => {
        signal.removeEventListener("abort", done);
        if (waiter !== undefined) waiter.wake = undefined;
        resolve();
      };
      // The lock may have been released between the attempt and this call.
      if (signal.aborted || lock?.owner === undefined && lock?.queue[0] === waiter) return done();
      signal.addEventListener("abort", done);
      if (waiter !== undefined) waiter.wake = done;
    });
  }
}
