import type { Inspection, QuorumNode, Vote, VoteOptions } from "../../quorum_node.ts";
import type { Observer } from "../../events.ts";
import { aborted, calledOrAborted } from "../../internal/time/aborted.ts";
import { type Clock, elapsed, type Instant, SystemClock } from "../../internal/time/clock.ts";
import { wishedFences } from "../../internal/handoff/group.ts";
import { blockLength } from "../../internal/lease/fence_block.ts";
import { checkEvict, type EvictTarget } from "../../internal/listing/eviction.ts";
import { HandoffStore } from "../../internal/handoff/handoff_store.ts";
import { checkQuery, pageOf, withRanks } from "../../internal/listing/query_options.ts";
import {
  type Attempt,
  type AttemptOptions,
  type Capability,
  type Claim,
  drift,
  type Entry,
  type EvictOptions,
  handleOf,
  type HolderEntry,
  type Kind,
  kindOf,
  type Meta,
  type QueryOptions,
  type Renewal,
  type Snapshot,
  type Store,
} from "../../store.ts";
import { entryOf } from "../../internal/listing/entry.ts";
import { Fences } from "./fences.ts";
import { DEAD_MS, type Holder, isDead, type MemoryLock, type MemoryWaiter, RETRY_MS } from "./lock.ts";
import { Locks } from "./locks.ts";
import { fits, permitsOf } from "./occupancy.ts";
import { checkMemoryOptions, type MemoryOptions } from "./options.ts";

/**
 * Returns a store in memory. Each call makes a new, empty one.
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
export function memory(options: MemoryOptions = {}): Store {
  const { observer } = checkMemoryOptions(options);
  const clock = new SystemClock();
  return new HandoffStore(new MemoryStore(observer, clock), clock);
}

const CAPABILITIES: readonly Capability[] = [
  ...["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"] as const,
];

/** The longest run that one grant takes out of the queue. */
const RUN_LIMIT = 100;

/** An attempt that was not granted. */
type RefusedAttempt = Exclude<Attempt, { granted: true }>;

/** A lock that can be granted. */
interface Admission {
  readonly lock: MemoryLock;
  /** The fence of the claim's owner, if that holds the lock already. */
  readonly fence: bigint | undefined;
  /** Whether it is the claim's turn, so that those in the queue directly follow it. */
  readonly next: boolean;
}

/** The plainest store that keeps the contract. */
export class MemoryStore implements QuorumNode {
  readonly drift = drift;
  readonly queueTimeout = DEAD_MS;
  readonly capabilities: readonly Capability[] = CAPABILITIES;
  readonly observer: Observer | undefined;
  readonly #clock: Clock;
  readonly #locks: Locks;
  readonly #fences = new Fences();
  #lastTicket = 0;

  /** Makes an empty store on a clock. */
  constructor(observer: Observer | undefined, clock: Clock) {
    this.observer = observer;
    this.#clock = clock;
    this.#locks = new Locks(clock);
  }

  /** The names that are held or waited for, and some that were. */
  get names(): string[] {
    return this.#locks.names;
  }

  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const admission = this.#admit(claim, options);
    if ("granted" in admission) return Promise.resolve(admission);
    const { lock, next } = admission;
    const wish = wishedFences(claim);
    const now = this.#clock.now();
    // A handle that asks again for several gets new ones: it is not known how many it had.
    const own = wish === 1 ? admission.fence : undefined;
    const fence = own ?? this.#nextFence(claim.name, now);
    lock.dequeue(claim);
    const run = next ? lock.takeRun(claim, now, blockLength(fence, RUN_LIMIT + 1, now.wall) - 1) : [];
    const fences = blockLength(fence, wish, now.wall);
    if (own === undefined) this.#fences.raise(claim.name, fence + BigInt(Math.max(fences - 1, run.length)));
    this.#grant(lock, claim, fence);
    if (run.length > 0) lock.holders.get(handleOf(claim))!.run = run;
    const contended = lock.queue.some((waiter) => !isDead(waiter, now));
    return Promise.resolve({ granted: true, fence, fences, contended, run: run.map(({ claim }) => handleOf(claim)) });
  }

  /** Forgets the place of a handle that a run took out of the queue: it does not come back. */
  forget(claim: Claim): void {
    const lock = this.#locks.get(claim.name);
    if (lock?.taken.delete(handleOf(claim))) this.#locks.get(claim.name);
  }

  succeed(from: Claim, to: Claim): Promise<void> {
    const lock = this.#locks.get(from.name);
    const waiter = lock?.waiter(from);
    if (lock !== undefined && waiter !== undefined && lock.waiter(to) === undefined) {
      lock.dequeue(from);
      this.#enqueue(lock, { ...waiter, claim: to, asked: this.#clock.now(), wake: undefined });
    }
    return Promise.resolve();
  }

  vote(claim: Claim, { guess, end = guess, maxClockSkew, ...options }: VoteOptions): Promise<Vote> {
    const admission = this.#admit(claim, options);
    if ("granted" in admission) {
      const retryAfter = "conflict" in admission ? RETRY_MS : admission.retryAfter;
      const heldFor = this.#locks.get(claim.name)?.heldFor(claim, this.#clock.now());
      return Promise.resolve({ granted: false, retryAfter, heldFor });
    }
    const latest = BigInt(Math.floor((this.#clock.now().wall + maxClockSkew) * 1000));
    const last = this.#fences.last(claim.name);
    const raised = last < guess && end <= latest;
    const counter = raised ? end : last;
    if (raised) this.#fences.raise(claim.name, counter);
    // A counter that was in the way is not its fence: a majority confirms one.
    this.#grant(admission.lock, claim, raised ? guess : admission.fence);
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
    this.#locks.serve(claim.name, lock);
    return Promise.resolve(released);
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    const lock = this.#locks.get(claim.name);
    const waiter = lock?.waiter(claim);
    // It may have become its turn between the attempt and this call.
    const due = lock !== undefined && waiter !== undefined && lock.admissible(this.#clock.now()).includes(waiter);
    if (due) return Promise.resolve();
    if (waiter === undefined) return aborted(signal);
    return calledOrAborted(signal, (wake) => {
      waiter.wake = wake;
      return () => void (waiter.wake = undefined);
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
    const evicted = lock.revoke(target.meta, target);
    this.#locks.serve(name, lock);
    return evicted;
  }

  query(options?: QueryOptions): Promise<Snapshot> {
    // What is wrong with the options rejects, as it does elsewhere.
    return Promise.resolve().then(() => this.#query(checkQuery(options)));
  }

  #query(options: QueryOptions): Snapshot {
    const { name } = options;
    const { names, cursor } = pageOf(name === undefined ? this.names : [name], options);
    // Some of the names are not used any more.
    const locks = names.flatMap((name) => this.#locks.get(name) ?? []);
    const now = this.#clock.now();
    return {
      held: locks.flatMap(({ holders }) => Array.from(holders.values(), (holder) => holderEntry(holder, now))),
      pending: withRanks(locks.flatMap((lock) => {
        const members = [...lock.holders.values()].flatMap((holder) => lock.membersOf(holder));
        return [...members.map((waiter) => ({ ...waiterEntry(waiter), member: true })), ...lock.queue.map(waiterEntry)];
      })),
      ...cursor === undefined ? {} : { cursor },
    };
  }

  /** Finds out whether the claim can be granted. If it cannot, and is to wait, puts it into the queue. */
  #admit(claim: Claim, options: AttemptOptions): RefusedAttempt | Admission {
    const lock = this.#locks.getOrCreate(claim.name);
    const present = lock.occupancy.kind;
    const own = lock.holderOfOwner(claim);
    if (own !== undefined) {
      const fitsOwn = lock.holders.has(handleOf(claim)) || present === "exclusive" || present === kindOf(claim);
      return fitsOwn ? { lock, fence: own.fence, next: false } : { granted: false, conflict: { present, own: true } };
    }
    if (options.steal) {
      lock.revoke(claim.meta);
      return { lock, fence: undefined, next: false };
    }
    const now = this.#clock.now();
    const queued = lock.waiter(claim);
    const known = queued ?? lock.taken.get(handleOf(claim));
    const waiter = known ?? { claim, ticket: ++this.#lastTicket, queuedAt: now.wall, asked: now, wake: undefined };
    waiter.asked = now;
    if (lock.admissible(now, waiter).includes(waiter)) return { lock, fence: undefined, next: true };
    // A queued claim was no conflict when it came, and may be none again.
    if (known === undefined && lock.holders.size > 0 && permitsOf(present) !== permitsOf(kindOf(claim))) {
      return { granted: false, conflict: { present, own: false } };
    }
    if (queued === undefined && options.enqueue) this.#enqueue(lock, waiter);
    this.#locks.serve(claim.name, lock);
    return { granted: false, retryAfter: retryAfter(lock, present, now) };
  }

  #nextFence(name: string, now: Instant): bigint {
    const microseconds = BigInt(Math.floor(now.wall * 1000));
    const last = this.#fences.last(name);
    return microseconds > last ? microseconds : last + 1n;
  }

  #enqueue(lock: MemoryLock, waiter: MemoryWaiter): void {
    lock.enqueue(waiter);
    this.#locks.keep(waiter.claim.name, lock);
  }

  #grant(lock: MemoryLock, claim: Claim, fence: bigint | undefined): void {
    lock.dequeue(claim);
    lock.grant(claim, fence, this.#clock.now());
    this.#locks.keep(claim.name, lock);
    this.#locks.serve(claim.name, lock);
  }
}

function holderEntry({ claim, grantedAt, since, lease, fence }: Holder, now: Instant): HolderEntry {
  return { ...entryOf(claim), since: grantedAt, expiresIn: lease - elapsed(since, now), fence };
}

function waiterEntry({ claim, queuedAt }: MemoryWaiter): Entry {
  return { ...entryOf(claim), since: queuedAt };
}

/** Returns when to ask again: a permit may be free with the first lease that ends, any other lock with the last one. */
function retryAfter({ holders }: MemoryLock, present: Kind, now: Instant): number {
  const leases = [...holders.values()].map(({ since, lease }) => lease - elapsed(since, now));
  const left = typeof present === "number" ? Math.min(...leases) : Math.max(0, ...leases);
  return Math.max(1, Math.min(left, RETRY_MS));
}
