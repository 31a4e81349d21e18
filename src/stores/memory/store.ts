import type { Inspection, QuorumNode, Vote, VoteOptions } from "../../contract/quorum_node.ts";
import type { Observer } from "../../contract/events.ts";
import { aborted, calledOrAborted } from "../../time/aborted.ts";
import { type Clock, type Instant, SystemClock } from "../../time/clock.ts";
import { checkEvict, type EvictTarget } from "../../internal/listing/eviction.ts";
import { HandoffStore } from "../../handoff/handoff_store.ts";
import { HandoffPlace } from "../../handoff/place.ts";
import { checkQuery, pageOf } from "../../internal/listing/query_options.ts";
import {
  type Attempt,
  type AttemptOptions,
  CAPABILITIES,
  type Claim,
  drift,
  type EvictOptions,
  handleOf,
  type Kind,
  type ListingStore,
  type Meta,
  type QueryOptions,
  type Renewal,
  type Snapshot,
  type Store,
} from "../../contract/store.ts";
import { Fences } from "./fences.ts";
import type { Admission } from "../../rules/lock_record.ts";
import { fits } from "../../rules/occupancy.ts";
import { readMeta } from "../../internal/process/meta.ts";
import { snapshotOf } from "../../rules/snapshot.ts";
import { aliveAt, DEAD_MS, leftOf, type MemoryHolder, type MemoryLock, type MemoryWaiter, RETRY_MS } from "./lock.ts";
import { Locks } from "./locks.ts";
import { checkMemoryOptions, type MemoryOptions } from "./options.ts";

/** A store in the memory of this process. */
export type InMemoryStore = ListingStore;

/**
 * Returns a store in memory. Each call creates a new, empty store.
 *
 * @example
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * await using lock = await acquire(memory(), "invoice:42");
 * ```
 *
 * @throws {TypeError} when an option is unknown or of the wrong kind
 */
export function memory(options: MemoryOptions = {}): InMemoryStore {
  const observer = checkMemoryOptions(options);
  const clock = new SystemClock();
  const store = new MemoryStore(observer, clock);
  return new HandoffStore(store, clock, undefined, new HandoffPlace(store)) as Store as InMemoryStore;
}

type RefusedAttempt = Exclude<Attempt, { granted: true }>;

/** A claim that is granted now, with its lock. */
interface Admitted {
  readonly lock: MemoryLock;
  readonly admission: Admission;
}

/** The simplest store that keeps the contract. */
export class MemoryStore implements QuorumNode {
  readonly drift = drift;
  readonly queueTimeout = DEAD_MS;
  readonly capabilities = CAPABILITIES;
  readonly observer: Observer | undefined;
  readonly #clock: Clock;
  readonly #locks: Locks;
  readonly #fences = new Fences();
  #lastTicket = 0;

  constructor(observer: Observer | undefined, clock: Clock) {
    this.observer = observer;
    this.#clock = clock;
    this.#locks = new Locks(clock);
  }

  get names(): string[] {
    return this.#locks.names;
  }

  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const admitted = this.#admit(claim, options);
    if ("granted" in admitted) return Promise.resolve(admitted);
    const { lock, admission } = admitted;
    const now = this.#clock.now();
    const alive = aliveAt(now);
    const before = this.#fences.last(claim.name);
    const { fence, fences, run, last } = lock.issue(claim, admission, before, now.wall, alive);
    if (last > before) this.#fences.raise(claim.name, last);
    this.#grant(lock, claim, fence, run);
    const handles = run.map(({ claim }) => handleOf(claim));
    return Promise.resolve({ granted: true, fence, fences, contended: lock.queue.some(alive), run: handles });
  }

  /** Drops the place of a handle that a run took out of the queue: it does not come back. */
  forget(claim: Claim): void {
    const lock = this.#locks.get(claim.name);
    if (lock?.taken.delete(handleOf(claim))) this.#locks.get(claim.name);
  }

  succeed(from: Claim, to: Claim): Promise<void> {
    const lock = this.#locks.get(from.name);
    const waiter = lock?.waiter(from);
    if (lock !== undefined && waiter !== undefined && lock.waiter(to) === undefined) {
      lock.dequeue(from);
      this.#enqueue(lock, { ...waiter, claim: to, activeAt: this.#clock.now(), wake: undefined });
    }
    return Promise.resolve();
  }

  vote(claim: Claim, { guess, end = guess, maxClockSkew, ...options }: VoteOptions): Promise<Vote> {
    const admitted = this.#admit(claim, options);
    if ("granted" in admitted) {
      const retryAfter = "conflict" in admitted ? RETRY_MS : admitted.retryAfter;
      const heldFor = this.#locks.get(claim.name)?.heldFor(claim, this.#clock.now());
      return Promise.resolve({ granted: false, retryAfter, heldFor });
    }
    const latest = BigInt(Math.floor((this.#clock.now().wall + maxClockSkew) * 1000));
    const last = this.#fences.last(claim.name);
    const raised = last < guess && end <= latest;
    const counter = raised ? end : last;
    if (raised) this.#fences.raise(claim.name, counter);
    // A counter that was in the way is not its fence: a majority confirms one.
    this.#grant(admitted.lock, claim, raised ? guess : admitted.admission.ownFence);
    return Promise.resolve({ granted: true, counter, raised });
  }

  confirm(claim: Claim, fence: bigint, end = fence): Promise<boolean> {
    const holder = this.#locks.get(claim.name)?.holders.get(handleOf(claim));
    const confirmed = holder !== undefined && this.#fences.last(claim.name) < fence;
    if (confirmed) {
      this.#fences.raise(claim.name, end);
      holder.fence = fence;
    }
    return Promise.resolve(confirmed);
  }

  inspect(claim: Claim): Promise<Inspection> {
    const lock = this.#locks.get(claim.name);
    const counter = this.#fences.last(claim.name);
    if (lock?.holders.has(handleOf(claim))) return Promise.resolve({ state: "held", counter });
    return Promise.resolve({ state: lock === undefined || fits(lock.occupancy, claim) ? "free" : "taken", counter });
  }

  retake(claim: Claim, fence: bigint, counter = fence): Promise<boolean> {
    const lock = this.#locks.getOrCreate(claim.name);
    const last = this.#fences.last(claim.name);
    const raised = counter > fence ? counter : fence;
    if (lock.holders.has(handleOf(claim))) return Promise.resolve(last === raised);
    const retaken = last === counter && fits(lock.occupancy, claim);
    if (retaken) {
      if (raised > last) this.#fences.raise(claim.name, raised);
      this.#grant(lock, claim, fence);
    }
    return Promise.resolve(retaken);
  }

  renew(claim: Claim): Promise<Renewal> {
    const holder = this.#locks.get(claim.name)?.holders.get(handleOf(claim));
    if (holder === undefined) return Promise.resolve("lost");
    const { lease, renewal = 0 } = claim;
    if (renewal >= holder.renewal) {
      holder.since = this.#clock.now();
      holder.lease = lease;
      holder.renewal = renewal;
    }
    return Promise.resolve("renewed");
  }

  release(claim: Claim): Promise<boolean> {
    const lock = this.#locks.get(claim.name);
    if (lock === undefined) return Promise.resolve(false);
    const released = lock.holders.delete(handleOf(claim)) || lock.dequeue(claim);
    this.#serve(claim.name, lock);
    return Promise.resolve(released);
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    const lock = this.#locks.get(claim.name);
    const waiter = lock?.waiter(claim);
    // It may have become its turn between the attempt and this call.
    const alive = aliveAt(this.#clock.now());
    const due = lock !== undefined && waiter !== undefined && lock.admissible(alive).includes(waiter);
    if (due) return Promise.resolve();
    if (waiter === undefined) return aborted(signal);
    return calledOrAborted(signal, (wake) => {
      waiter.wake = wake;
      return () => {
        // A later call may begin before this one ends.
        if (waiter.wake !== wake) return;
        waiter.wake = undefined;
        waiter.activeAt = this.#clock.now();
      };
    });
  }

  revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> {
    const holder = this.#locks.get(claim.name)?.holders.get(handleOf(claim));
    if (holder === undefined) return Promise.resolve();
    return calledOrAborted<Meta | undefined>(signal, (revoked) => {
      holder.revoked = revoked;
      return () => void (holder.revoked = undefined);
    });
  }

  evict(name: string, options?: EvictOptions): Promise<number> {
    // What is wrong with the options rejects, as it does elsewhere.
    return new Promise((resolve) => resolve(this.#evict(name, checkEvict(options))));
  }

  #evict(name: string, target: EvictTarget): number {
    const lock = this.#locks.get(name);
    if (lock === undefined) return 0;
    const evicted = this.#revoke(lock, target.meta, target);
    this.#serve(name, lock);
    return evicted;
  }

  query(options?: QueryOptions): Promise<Snapshot> {
    // What is wrong with the options rejects, as it does elsewhere.
    return Promise.resolve().then(() => this.#query(checkQuery(options)));
  }

  #query(options: QueryOptions): Snapshot {
    const { name } = options;
    const { names, cursor } = pageOf(name === undefined ? this.names : [name], options);
    const now = this.#clock.now();
    const left = (holder: MemoryHolder) => leftOf(holder, now);
    // Some of the names are no longer used.
    const locks = names.flatMap((name) => this.#locks.get(name) ?? []);
    return snapshotOf(locks.map((lock) => [lock, left] as const), cursor);
  }

  /** Decides whether the claim can be granted. If it cannot, and the caller waits, puts it into the queue. */
  #admit(claim: Claim, { enqueue, steal = false }: AttemptOptions): RefusedAttempt | Admitted {
    const lock = this.#locks.getOrCreate(claim.name);
    const present = lock.occupancy.kind;
    const now = this.#clock.now();
    const queued = lock.waiter(claim);
    const known = queued ?? lock.taken.get(handleOf(claim));
    const waiter = known ?? { claim, ticket: ++this.#lastTicket, queuedAt: now.wall, activeAt: now, wake: undefined };
    waiter.activeAt = now;
    const decision = lock.decide(claim, waiter, known !== undefined, steal, aliveAt(now));
    if (decision.outcome === "conflict") return { granted: false, conflict: decision.conflict };
    if (decision.outcome === "free") {
      if (decision.steals) this.#revoke(lock, claim.meta);
      return { lock, admission: decision };
    }
    if (queued === undefined && enqueue) this.#enqueue(lock, waiter);
    this.#serve(claim.name, lock);
    return { granted: false, retryAfter: retryAfter(lock, present, now) };
  }

  #enqueue(lock: MemoryLock, waiter: MemoryWaiter): void {
    lock.enqueue(waiter);
    this.#locks.keep(waiter.claim.name, lock);
  }

  #grant(lock: MemoryLock, claim: Claim, fence: bigint | undefined, run?: readonly MemoryWaiter[]): void {
    lock.grant(claim, fence, this.#clock.now(), run);
    this.#locks.keep(claim.name, lock);
    this.#serve(claim.name, lock);
  }

  /** Revokes the lock of all its holders, or of the selected holders, and notifies them. Returns their number. */
  #revoke(lock: MemoryLock, by: string | undefined, target?: EvictTarget): number {
    const revoked = lock.revoke(target);
    for (const holder of revoked) holder.revoked?.(readMeta(by));
    return revoked.length;
  }

  /** Wakes the waiters of a lock that can hold it now. Removes a lock without holders and waiters. */
  #serve(name: string, lock: MemoryLock): void {
    if (lock.unused) this.#locks.delete(name);
    for (const { wake } of lock.next(aliveAt(this.#clock.now()))) wake?.();
  }
}

/**
 * Returns when to ask again: a permit may be free at the first end of a lease, any other lock at the last. A free lock
 * waits for the first of its queue.
 */
function retryAfter({ holders }: MemoryLock, present: Kind, now: Instant): number {
  const leases = Array.from(holders.values(), (holder) => leftOf(holder, now));
  const left = typeof present === "number" || leases.length === 0 ? Math.min(...leases) : Math.max(...leases);
  return Math.max(1, Math.min(left, RETRY_MS));
}
