import { type Clock, elapsed, type Instant } from "../_clock.ts";
import type { Observer } from "../observer.ts";
import {
  type Attempt,
  type AttemptOptions,
  type Capability,
  type Claim,
  drift,
  type Entry,
  holdOf,
  type Kind,
  kindOf,
  type QuorumNode,
  type Renewal,
  type Snapshot,
  type Vote,
  type VoteOptions,
} from "../store.ts";
import { Fences } from "./_memory_fences.ts";
import { partyOf } from "../_party.ts";

/** The longest time between two attempts of a waiter, in milliseconds; after three of them it is taken for dead. */
const POLL = 200;

/** With so many names or more, those whose leases have ended are looked for. */
const CROWD = 1_000;

interface Lock {
  /** What it is while somebody holds it. */
  kind: Kind;
  readonly holds: Map<string, Hold>;
  /** First come, first served. */
  readonly queue: Waiter[];
}

/** One handle's part of a lock. Its lease lasts `lease` milliseconds from `since`. */
interface Hold {
  readonly claim: Claim;
  readonly since: Instant;
  readonly lease: number;
  readonly fence: bigint;
  /** Hears that it was taken away. */
  evicted: (() => void) | undefined;
}

interface Waiter {
  readonly claim: Claim;
  seen: Instant;
  wake: (() => void) | undefined;
}

/** Why a lock was not taken. */
type Refusal = Exclude<Attempt, { granted: true }>;

/** The plainest store that keeps the contract. */
export class MemoryStore implements QuorumNode {
  readonly drift = drift;
  readonly capabilities: readonly Capability[] = ["shared", "permits", "owner", "steal"];
  readonly observer: Observer | undefined;
  readonly #clock: Clock;
  readonly #locks = new Map<string, Lock>();
  readonly #fences = new Fences();
  /** With how many names they are looked at next. */
  #crowd = CROWD;

  /** Makes an empty store on a clock. */
  constructor(observer: Observer | undefined, clock: Clock) {
    this.observer = observer;
    this.#clock = clock;
  }

  /** The names that are held or waited for, and some that were. */
  get names(): string[] {
    return [...this.#locks.keys()];
  }

  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const admission = this.#admit(claim, options);
    if ("granted" in admission) return Promise.resolve(admission);
    const clock = BigInt(Math.floor(this.#clock.now().wall * 1000));
    const last = this.#fences.last(claim.name);
    const fence = admission.fence ?? (clock > last ? clock : last + 1n);
    if (fence > last) this.#fences.raise(claim.name, fence);
    this.#grant(admission.lock, claim, fence);
    return Promise.resolve({ granted: true, fence });
  }

  vote(claim: Claim, { guess, maxClockSkew, ...options }: VoteOptions): Promise<Vote> {
    const admission = this.#admit(claim, options);
    if ("granted" in admission) {
      return Promise.resolve("conflict" in admission ? { granted: false, retryAfter: POLL } : admission);
    }
    const latest = BigInt(Math.floor((this.#clock.now().wall + maxClockSkew) * 1000));
    const last = this.#fences.last(claim.name);
    const raised = last < guess && guess <= latest;
    const counter = raised ? guess : last;
    if (raised) this.#fences.raise(claim.name, counter);
    this.#grant(admission.lock, claim, counter);
    return Promise.resolve({ granted: true, counter, raised });
  }

  confirm(claim: Claim, fence: bigint): Promise<boolean> {
    const held = this.#lock(claim.name)?.holds.has(holdOf(claim)) === true;
    const confirmed = held && this.#fences.last(claim.name) < fence;
    if (confirmed) this.#fences.raise(claim.name, fence);
    return Promise.resolve(confirmed);
  }

  retake(claim: Claim, fence: bigint): Promise<boolean> {
    const lock = this.#lock(claim.name) ?? { kind: kindOf(claim), holds: new Map(), queue: [] };
    const retaken = this.#fences.last(claim.name) === fence && fits(lock, claim);
    if (retaken) this.#grant(lock, claim, fence);
    return Promise.resolve(retaken);
  }

  renew(claim: Claim): Promise<Renewal> {
    const holds = this.#lock(claim.name)?.holds;
    const hold = holds?.get(holdOf(claim));
    if (hold === undefined) return Promise.resolve("lost");
    holds?.set(holdOf(claim), { ...hold, since: this.#clock.now(), lease: claim.lease });
    return Promise.resolve("renewed");
  }

  release(claim: Claim): Promise<boolean> {
    const lock = this.#lock(claim.name);
    if (lock === undefined) return Promise.resolve(false);
    const given = lock.holds.delete(holdOf(claim)) || leave(lock, claim);
    this.#serve(claim.name, lock);
    return Promise.resolve(given);
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    const lock = this.#lock(claim.name);
    const waiter = lock?.queue.find((waiter) => holdOf(waiter.claim) === holdOf(claim));
    // It may have become its turn between the attempt and this call.
    const now = lock !== undefined && waiter !== undefined && lock.queue[0] === waiter && fits(lock, claim);
    return heard(signal, now, (wake) => {
      if (waiter !== undefined) waiter.wake = wake;
    });
  }

  eviction(claim: Claim, signal: AbortSignal): Promise<void> {
    const hold = this.#lock(claim.name)?.holds.get(holdOf(claim));
    return heard(signal, hold === undefined, (evicted) => {
      const held = this.#locks.get(claim.name)?.holds.get(holdOf(claim));
      if (held !== undefined) held.evicted = evicted;
    });
  }

  evict(name: string): Promise<number> {
    const lock = this.#lock(name);
    if (lock === undefined) return Promise.resolve(0);
    const { size } = lock.holds;
    clear(lock);
    this.#serve(name, lock);
    return Promise.resolve(size);
  }

  query(): Promise<Snapshot> {
    const locks = this.names.map((name) => this.#lock(name)).filter((lock) => lock !== undefined);
    return Promise.resolve({
      held: locks.flatMap(({ holds }) => [...holds.values()].map(entry)),
      pending: locks.flatMap(({ queue }) => queue.map(entry)),
    });
  }

  /** A lock, without the holds whose leases have ended; nothing when it is free. */
  #lock(name: string): Lock | undefined {
    const lock = this.#locks.get(name);
    const now = this.#clock.now();
    for (const [id, { since, lease }] of lock?.holds ?? []) {
      if (elapsed(since, now) >= lease) lock?.holds.delete(id);
    }
    if (lock?.holds.size !== 0 || lock.queue.length > 0) return lock;
    this.#locks.delete(name);
    return undefined;
  }

  /** Whether the claim can be granted: the lock, with the fence that its owner has already; else why not. */
  #admit(claim: Claim, { enqueue, steal = false }: AttemptOptions): Refusal | { lock: Lock; fence?: bigint } {
    const { name } = claim;
    const id = holdOf(claim);
    const now = this.#clock.now();
    const lock: Lock = this.#lock(name) ?? { kind: kindOf(claim), holds: new Map(), queue: [] };
    const own = [...lock.holds.values()].find((hold) => partyOf(hold.claim) === partyOf(claim));
    if (own !== undefined) {
      if (lock.holds.has(id) || lock.kind === "exclusive" || lock.kind === kindOf(claim)) {
        return { lock, fence: own.fence };
      }
      return { granted: false, conflict: { present: lock.kind, own: true } };
    }
    if (steal) clear(lock);
    const place = lock.queue.findIndex((waiter) => holdOf(waiter.claim) === id);
    // A waiter that sleeps in wakeup() is alive; one that neither sleeps nor asks is dead, and passed over.
    const ahead = lock.queue.slice(0, place < 0 ? undefined : place)
      .filter((waiter) => waiter.wake !== undefined || elapsed(waiter.seen, now) < 3 * POLL);
    if (steal || ahead.length === 0 && fits(lock, claim)) return { lock };
    // Who stands in the queue came when things were otherwise, and they may be so again.
    if (place < 0 && lock.holds.size > 0 && permitsOf(lock.kind) !== permitsOf(kindOf(claim))) {
      return { granted: false, conflict: { present: lock.kind, own: false } };
    }
    if (place >= 0) lock.queue[place]!.seen = now;
    else if (enqueue) {
      lock.queue.push({ claim, seen: now, wake: undefined });
      this.#locks.set(name, lock);
    }
    this.#serve(name, lock);
    // A permit may be free with the first lease that ends, the lock of the others with the last one.
    const leases = [...lock.holds.values()].map(({ since, lease }) => lease - elapsed(since, now));
    const left = typeof lock.kind === "number" ? Math.min(...leases) : Math.max(0, ...leases);
    return { granted: false, retryAfter: Math.max(1, Math.min(left, POLL)) };
  }

  #grant(lock: Lock, claim: Claim, fence: bigint): void {
    if (this.#locks.size >= this.#crowd) {
      // Nobody comes back to a name that was used once, and never released.
      for (const name of this.names) this.#lock(name);
      this.#crowd = Math.max(CROWD, 2 * this.#locks.size);
    }
    leave(lock, claim);
    if (lock.holds.size === 0) lock.kind = kindOf(claim);
    const { evicted } = lock.holds.get(holdOf(claim)) ?? {};
    lock.holds.set(holdOf(claim), { claim, since: this.#clock.now(), lease: claim.lease, fence, evicted });
    this.#locks.set(claim.name, lock);
    this.#serve(claim.name, lock);
  }

  /** Wakes whoever can hold the lock now: another handle of its owner, or the head of the queue; that wakes the next. */
  #serve(name: string, lock: Lock): void {
    const { holds, queue } = lock;
    if (holds.size === 0 && queue.length === 0) this.#locks.delete(name);
    const owners = new Set([...holds.values()].map(({ claim }) => partyOf(claim)));
    for (const { claim, wake } of queue) {
      if (claim === queue[0]?.claim && fits(lock, claim) || owners.has(partyOf(claim))) wake?.();
    }
  }
}

/** Whether the lock can be held by one more. */
function fits({ kind, holds }: Lock, claim: Claim): boolean {
  if (holds.size === 0) return true;
  if (kind === "exclusive" || kind !== kindOf(claim)) return false;
  return new Set([...holds.values()].map(({ claim }) => partyOf(claim))).size < permitsOf(kind);
}

/** How many may hold a lock at once, those who share it aside. */
function permitsOf(kind: Kind): number {
  return typeof kind === "number" ? kind : Infinity;
}

/** Leaves the queue; gives whether it stood there. */
function leave({ queue }: Lock, claim: Claim): boolean {
  const place = queue.findIndex((waiter) => holdOf(waiter.claim) === holdOf(claim));
  if (place >= 0) queue.splice(place, 1);
  return place >= 0;
}

/** Takes the lock from whoever holds it. */
function clear({ holds }: Lock): void {
  for (const { evicted } of holds.values()) evicted?.();
  holds.clear();
}

function entry({ claim: { name, owner, mode, permits } }: { readonly claim: Claim }): Entry {
  return { name, owner, mode, permits };
}

/** Resolves when it is called back, or when the signal aborts. */
function heard(signal: AbortSignal, now: boolean, listen: (callback: (() => void) | undefined) => void): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      signal.removeEventListener("abort", done);
      listen(undefined);
      resolve();
    };
    if (signal.aborted || now) return done();
    signal.addEventListener("abort", done);
    listen(done);
  });
}
