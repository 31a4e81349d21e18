import type { AttemptOptions, Claim, Store } from "./store.ts";

/** The options of {@linkcode QuorumNode.vote}. */
export interface VoteOptions extends AttemptOptions {
  /** The fence that the caller asks for; of a block its start. */
  readonly guess: bigint;
  /** The end of the block of fences that the caller asks for; `guess` when left out. */
  readonly end?: bigint | undefined;
  /**
   * How far ahead of the node's clock the end may be, in milliseconds, so that one bad clock cannot spoil the counter.
   */
  readonly maxClockSkew: number;
}

/** The vote of one node: an attempt without a fence of its own. */
export type Vote =
  | {
    readonly granted: true;
    /** The node's fence counter after the vote. */
    readonly counter: bigint;
    /** Whether the counter was lower than the guess, and is the end of the block now. */
    readonly raised: boolean;
  }
  | {
    readonly granted: false;
    /** When to ask again if no wake-up comes before, in milliseconds from now. */
    readonly retryAfter: number;
    /**
     * For how long the lock has been held on this node, in milliseconds, if no other waiter is ahead of the handle. 0
     * while the lock is reserved for a waiter; `Infinity` if its holder is not part of a quorum. Left out when a waiter
     * is ahead, or nothing is known.
     */
    readonly heldFor?: number | undefined;
  };

/** The state of a lock on one node of a quorum, as one handle sees it. */
export interface Inspection {
  /**
   * *held*: by this handle; *free*: the handle could hold it, alone or beside others who share it; *taken*: it could
   * not.
   */
  readonly state: "held" | "free" | "taken";
  /** The node's fence counter, 0 when it has none. */
  readonly counter: bigint;
}

/**
 * A store that can be a node of a quorum. The quorum issues the fences: the node only keeps a fence counter for each
 * name.
 */
export interface QuorumNode extends Store {
  /**
   * Attempts to grant the lock and moves the counter, in one step: a counter below the guess is raised to the end of
   * the block. A counter within the block stays: the numbers up to it may belong to another block.
   */
  vote(claim: Claim, options: VoteOptions): Promise<Vote>;
  /**
   * Raises the counter to the end of a block if it is lower than its start and this handle holds the lock. Resolves to
   * whether it did so.
   *
   * @param fence the start of the block
   * @param end its end; the start when left out
   */
  confirm(claim: Claim, fence: bigint, end?: bigint): Promise<boolean>;
  /** Resolves to the state of the lock on this node. Changes nothing. */
  inspect(claim: Claim): Promise<Inspection>;
  /**
   * Grants the lock again to a handle that the node has lost, if it is free for the handle and the fence counter is
   * still `counter`. Raises the counter to `fence` if it is lower. Resolves to whether the handle holds the lock now,
   * with that counter; also `true` when the call is repeated.
   *
   * @param fence the fence of the lock; of a block its end
   * @param counter the counter when the node was inspected; the fence itself when left out
   */
  retake(claim: Claim, fence: bigint, counter?: bigint): Promise<boolean>;
  /**
   * Whether its client is connecting, for the first time or after a cut, and has not failed yet. Calls then wait for
   * the connection. Left out where there is no connection.
   */
  readonly connecting?: boolean | undefined;
  /**
   * A number that changes with each cut of the connection, after which calls may be executed twice. While the number
   * stays the same, every call is executed at most once. `undefined`: calls may be executed twice at any time.
   */
  readonly session?: number | undefined;
  /**
   * How long the node keeps a place in its queue after the waiter's last attempt, in milliseconds; left out where this
   * is never longer than the lease.
   */
  readonly queueTimeout?: number | undefined;
  /** Where the node is, as `host:port`, for errors. */
  readonly address?: string | undefined;
}
