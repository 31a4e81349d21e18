import type { Observer } from "./observer.ts";

/** How a lock is held: by one, or by any number who share it; the words are those of the Web Locks API. */
export type Mode = "exclusive" | "shared";

/** What kind of lock a name is while somebody holds it: its mode or, of a semaphore, how many may hold it at once. */
export type Kind = Mode | number;

/** Who asks for which lock, for how long. A value: each call to a {@linkcode Store} carries one. */
export interface Claim {
  /** The name of the lock, 1 to 1,024 bytes of UTF-8. */
  readonly name: string;
  /** Who holds the lock or waits for it: a fresh UUID for every `acquire`, unless the caller gave its own. */
  readonly owner: string;
  /**
   * The id of the one handle that asks, if the caller gave the owner: that, a slash and a UUID. Without it the owner is
   * the handle's id.
   */
  readonly hold?: string | undefined;
  /** How the lock is held. */
  readonly mode: Mode;
  /** Of a semaphore: how many owners may hold it at once, at least 1. */
  readonly permits?: number | undefined;
  /** How long the store keeps the lock after hearing from its holder, in milliseconds. */
  readonly lease: number;
}

/** The id of the handle that a claim is for. */
export function holdOf({ owner, hold }: Claim): string {
  return hold ?? owner;
}

/** What kind of lock a claim is for. */
export function kindOf({ mode, permits }: Claim): Kind {
  return permits ?? mode;
}

/** Why waiting would be of no use: how the lock is held at present, and whether by the owner that asks. */
export interface Conflict {
  /** The mode, or the permits of a semaphore. */
  readonly present: Kind;
  /** Whether the owner would wait for itself. */
  readonly own: boolean;
}

/**
 * How an attempt ended: the lock is held from now on; or it is busy and another attempt makes sense later; or the claim
 * does not go with the present holders, and nothing was done.
 */
export type Attempt =
  | {
    readonly granted: true;
    /** Larger than every fence granted before for this name. */
    readonly fence: bigint;
  }
  | {
    readonly granted: false;
    /** When to ask again if no wake-up comes before, in milliseconds from now. */
    readonly retryAfter: number;
  }
  | {
    readonly granted: false;
    /** What stands against it. */
    readonly conflict: Conflict;
  };

/** How a renewal ended. A call that fails or never answers is neither: the lease then ends at its deadline. */
export type Renewal = "renewed" | "lost";

/** An option of `acquire` that not every store supports. */
export type Capability = "shared" | "permits" | "owner" | "steal";

/** A handle that holds a lock or waits for it, as {@linkcode Store.query} lists it. */
export interface Entry {
  /** The name of the lock. */
  readonly name: string;
  /** Whose handle it is. */
  readonly owner: string;
  /** How the lock is held. */
  readonly mode: Mode;
  /** Of a semaphore: how many may hold it at once. */
  readonly permits?: number | undefined;
}

/** Who holds the locks of a store and who waits for them, at one moment for each name. */
export interface Snapshot {
  /** Who holds a lock. */
  readonly held: readonly Entry[];
  /** Who waits; for each name in the order in which they will be served. */
  readonly pending: readonly Entry[];
}

/**
 * Where locks are kept. A store orders its waiters first come, first served, and answers every call by the owner in
 * the claim, so that a call may be repeated whenever its reply was lost. It rejects when it cannot tell the outcome
 * (with a {@linkcode StoreError} when it knows that nothing was done); the caller does not have to wait for a call that
 * hangs.
 *
 * `src/testing/` (`@holdfast/lock/testing`) holds the behaviours that every store must show.
 */
export interface Store {
  /**
   * Asks for the lock. If this handle holds it already (a reply was lost, or the lock was handed over), the answer is
   * *granted*, with the full lease from now. With `enqueue`, a busy answer leaves the handle in the queue, at the place
   * that it has had since its first attempt, and a further attempt shows that it is still alive.
   *
   * A shared claim or one for a permit is granted beside others of its kind, but not past the queue. An owner that
   * holds the lock already is granted another hold at once, with the fence that it has.
   */
  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt>;
  /** Extends the lease to `claim.lease` milliseconds from now if this handle holds the lock. */
  renew(claim: Claim): Promise<Renewal>;
  /**
   * Gives up this handle's hold, or its place in the queue; whoever can hold the lock now is served. Resolves to whether
   * there was anything to give up.
   */
  release(claim: Claim): Promise<boolean>;
  /**
   * Resolves when another attempt of this queued handle is worthwhile. Only an optimisation: it may come for nothing,
   * and a store without it is polled at `retryAfter`. Resolves as well when `signal` aborts.
   */
  wakeup?(claim: Claim, signal: AbortSignal): Promise<void>;
  /** The options of `acquire` that it supports besides; none when left out. */
  readonly capabilities?: readonly Capability[] | undefined;
  /**
   * Resolves soon after the lock was taken from this handle by `steal` or {@linkcode evict}, and when `signal` aborts.
   * Only an optimisation: the next renewal tells too.
   */
  eviction?(claim: Claim, signal: AbortSignal): Promise<void>;
  /** Takes the lock from whoever holds it, and serves the queue. Resolves to how many holds there were. */
  evict?(name: string): Promise<number>;
  /** Lists who holds the locks of this store and who waits for them. */
  query?(): Promise<Snapshot>;
  /** How much earlier than the lease the holder must stop trusting it, in milliseconds: clocks drift apart. */
  readonly drift: (lease: number) => number;
  /** Whether it was closed for good, so that asking again is of no use. */
  readonly closed?: boolean;
  /** Hears what happens to the locks of this store. */
  readonly observer?: Observer | undefined;
}

/** How a {@linkcode Store} is to attempt. */
export interface AttemptOptions {
  /** Whether to wait in the queue when the lock is busy. */
  readonly enqueue: boolean;
  /** Whether to take the lock from whoever holds it, ahead of the queue. */
  readonly steal?: boolean | undefined;
}

/** How a {@linkcode QuorumNode} is to vote. */
export interface VoteOptions extends AttemptOptions {
  /** The fence that the asker hopes for. */
  readonly guess: bigint;
  /** How far ahead of the node's own clock a guess may be, in milliseconds: one bad clock must not poison the counter. */
  readonly maxClockSkew: number;
}

/** The vote of one node: an attempt without a fence of its own. */
export type Vote =
  | {
    readonly granted: true;
    /** The node's counter of fences, after the vote. */
    readonly counter: bigint;
    /** Whether the counter was lower than the guess, and is the guess now. */
    readonly raised: boolean;
  }
  | {
    readonly granted: false;
    /** When to ask again if no wake-up comes before, in milliseconds from now. */
    readonly retryAfter: number;
  };

/**
 * What a store must do besides to be a node of a quorum: the counter of fences of each name belongs to the quorum then.
 */
export interface QuorumNode extends Store {
  /** Attempts, and raises the counter to the guess if it is lower, in one step. */
  vote(claim: Claim, options: VoteOptions): Promise<Vote>;
  /** Raises the counter to `fence` if it is lower and this owner holds the lock; resolves to whether both were so. */
  confirm(claim: Claim, fence: bigint): Promise<boolean>;
  /**
   * Gives the lock back to an owner that the node has lost, if nobody holds it and the counter is still `fence`, so
   * that nobody can have held it since. Resolves to whether it did.
   */
  retake(claim: Claim, fence: bigint): Promise<boolean>;
  /**
   * Another number after each cut of the connection, which may have had calls done twice. While it stays the same every
   * call is done once at the most. `undefined`: that may happen at any time.
   */
  readonly session?: number | undefined;
  /** Where the node is, as `host:port`, for errors. */
  readonly address?: string | undefined;
}

/**
 * The clock allowance of a single store: 1 % of the lease, for clocks that run at different speeds, and 2 ms for the
 * resolution of timers and of expiry, as the Redis documentation's description of Redlock proposes.
 */
export function drift(lease: number): number {
  return lease / 100 + 2;
}
