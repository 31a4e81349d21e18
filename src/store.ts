import type { Observer } from "./observer.ts";

/** How a lock is held; the word is that of the Web Locks API. */
export type Mode = "exclusive";

/** Who asks for which lock, for how long. A value: each call to a {@linkcode Store} carries one. */
export interface Claim {
  /** The name of the lock, 1 to 1,024 bytes of UTF-8. */
  readonly name: string;
  /** The id of the one handle that holds the lock or waits for it. Unique: a fresh UUID for every `acquire`. */
  readonly owner: string;
  /** How the lock is held. */
  readonly mode: Mode;
  /** How long the store keeps the lock after hearing from its holder, in milliseconds. */
  readonly lease: number;
}

/** How an attempt ended: the lock is held from now on, or it is busy and another attempt makes sense later. */
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
  };

/** How a renewal ended. A call that fails or never answers is neither: the lease then ends at its deadline. */
export type Renewal = "renewed" | "lost";

/**
 * Where locks are kept. A store orders its waiters first come, first served, and answers every call by the owner in
 * the claim, so that a call may be repeated whenever its reply was lost. It rejects when it cannot tell the outcome
 * (with a {@linkcode StoreError} when it knows that nothing was done); the caller does not have to wait for a call that
 * hangs.
 *
 * `src/testing.ts` (`@holdfast/lock/testing`) holds the behaviours that every store must show.
 */
export interface Store {
  /**
   * Asks for the lock. If this owner holds it already (a reply was lost, or the lock was handed over), the answer is
   * *granted*, with the full lease from now. With `enqueue`, a busy answer leaves the owner in the queue, at the place
   * that it has had since its first attempt, and a further attempt shows that it is still alive.
   */
  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt>;
  /** Extends the lease to `claim.lease` milliseconds from now if this owner holds the lock. */
  renew(claim: Claim): Promise<Renewal>;
  /**
   * Gives up the lock, or the place in the queue; the next waiter is served. Resolves to whether there was anything to
   * give up.
   */
  release(claim: Claim): Promise<boolean>;
  /**
   * Resolves when another attempt of this queued owner is worthwhile. Only an optimisation: it may come for nothing,
   * and a store without it is polled at `retryAfter`. Resolves as well when `signal` aborts.
   */
  wakeup?(claim: Claim, signal: AbortSignal): Promise<void>;
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
