import type { Observer } from "./events.ts";

/** How a lock is held: by one owner, or shared by any number. The words are those of the Web Locks API. */
export type Mode = "exclusive" | "shared";

/** The kind of lock that a name is while it is held: its mode or, of a semaphore, how many owners may hold it at once. */
export type Kind = Mode | number;

/** A request for a lock: who wants which lock, for how long. A value that each call to a {@linkcode Store} carries. */
export interface Claim {
  /** The name of the lock, 1 to 1,024 bytes of UTF-8. */
  readonly name: string;
  /** The owner that holds the lock or waits for it: a new UUID for every `acquire`, unless the caller gave `owner`. */
  readonly owner: string;
  /**
   * The id of the handle, if the caller gave the owner: that, a slash and a UUID. Without it the owner is the id of the
   * handle.
   */
  readonly handle?: string | undefined;
  /** How the lock is held. */
  readonly mode: Mode;
  /** Of a semaphore: how many owners may hold it at once, at least 1. */
  readonly permits?: number | undefined;
  /** How long the store keeps the lock after the grant or the last renewal, in milliseconds. */
  readonly lease: number;
  /**
   * The number of this renewal of the handle, a whole number that only rises; 0 when left out. Present once the handle
   * has changed the length of its lease, see {@linkcode Store.renew}.
   */
  readonly renewal?: number | undefined;
  /**
   * How many fences to reserve, at least 1; 1 when left out. Larger than 1 only in exclusive claims with a fresh owner. The
   * store may reserve fewer, see {@linkcode Granted.fences}; one that does not declare `"fences"` ignores the number.
   */
  readonly fences?: number | undefined;
  /**
   * A UUID that handles of one process share, so that the lock may be granted to several of them together, see
   * {@linkcode Granted.run}. Present only in exclusive claims with a fresh owner.
   */
  readonly group?: string | undefined;
  /**
   * The description of the handle in listings: the JSON text of a {@linkcode Meta}, at most 1,024 bytes of UTF-8. A
   * store that lists its locks keeps it for as long as the handle holds the lock or waits for it; others ignore it.
   */
  readonly meta?: string | undefined;
}

/** The description of a handle: a flat record of strings, such as `{ host: "web-1", pid: "4711", job: "import" }`. */
export type Meta = Readonly<Record<string, string>>;

/** Returns the id of the handle that a claim is for. */
export function handleOf({ owner, handle }: Claim): string {
  return handle ?? owner;
}

/** Returns the kind of lock that a claim is for. */
export function kindOf({ mode, permits }: Claim): Kind {
  return permits ?? mode;
}

/** Why waiting cannot succeed: how the lock is held at present, and whether the same owner holds it. */
export interface Conflict {
  /** The mode, or the permits of a semaphore. */
  readonly present: Kind;
  /** Whether the owner would wait for itself. */
  readonly own: boolean;
}

/** The lock is granted. */
export interface Granted {
  /** Whether the lock is granted. */
  readonly granted: true;
  /** Larger than every fence granted before for this name. */
  readonly fence: bigint;
  /**
   * How many fences were reserved, 1 when left out: `fence` and those that follow it. No other grant gets one of them,
   * and the fences of later grants are larger. The last one is at most 10 ms ahead of the store's clock in microseconds,
   * unless `fence` itself is.
   */
  readonly fences?: number | undefined;
  /** How much of the lease had passed when the attempt was made, in milliseconds; 0 when left out. */
  readonly age?: number | undefined;
  /** Whether other handles were left waiting in the queue when the lock was granted; left out when that is not known. */
  readonly contended?: boolean | undefined;
  /**
   * A *run*: the ids of the handles with the same {@linkcode Claim.group} that came next in the queue, in its order. They
   * were taken out of the queue together with this one. Their process may hand the lock on to each in turn, under the
   * lease of this handle, and releases it once at the end. The fence of the first of them is `fence + 1`, and so on. A
   * handle that is not handed the lock attempts again, and has its former place in the queue.
   */
  readonly run?: readonly string[] | undefined;
}

/**
 * How an attempt ended. The lock is granted; or it is busy, and another attempt makes sense later; or the claim conflicts
 * with the present holders, and nothing was done.
 */
export type Attempt =
  | Granted
  | {
    readonly granted: false;
    /** When to attempt again if no wake-up comes before, in milliseconds from now. */
    readonly retryAfter: number;
    /**
     * Whether this handle need not attempt before its wake-up comes, as long as another handle of its process does so and
     * names it in {@linkcode AttemptOptions.alive}; no when left out.
     */
    readonly maySleep?: boolean | undefined;
  }
  | {
    readonly granted: false;
    /** The conflict of the claim. */
    readonly conflict: Conflict;
  };

/** How a renewal ended. A call that fails or is never answered is neither: it is unknown how it ended. */
export type Renewal = "renewed" | "lost";

/**
 * A feature that not every store supports: an option of `acquire` (`mode: "shared"`, `permits`, `owner`, `steal`), a method
 * ({@linkcode Store.evict}, {@linkcode Store.query}), or a part of a grant ({@linkcode Claim.fences}, `"runs"` for
 * {@linkcode Claim.group}). Each stands for itself: `"owner"` does not imply `"shared"`.
 */
export type Capability = "shared" | "permits" | "owner" | "steal" | "evict" | "query" | "fences" | "runs";

/** A handle that holds a lock or waits for it, as {@linkcode Store.query} lists it. */
export interface Entry {
  /** The name of the lock. */
  readonly name: string;
  /** The owner of the handle. */
  readonly owner: string;
  /** The id of the handle; the owner's, if that was not given by the caller. */
  readonly handle: string;
  /** How the lock is held. */
  readonly mode: Mode;
  /** Of a semaphore: how many owners may hold it at once. */
  readonly permits?: number | undefined;
  /** The description of the handle; `undefined` if its claim has no {@linkcode Claim.meta}. */
  readonly meta?: Meta | undefined;
  /**
   * Since when it holds the lock or waits for it: milliseconds since the Unix epoch, by the clock of the store, to within
   * 10 ms; of a holder that has attempted again, perhaps that attempt. `undefined` if the store does not know.
   */
  readonly since?: number | undefined;
}

/** A handle that holds a lock, as {@linkcode Store.query} lists it. */
export interface HolderEntry extends Entry {
  /** When the lease ends unless it is renewed, in milliseconds from the moment of the query. */
  readonly expiresIn?: number | undefined;
  /** The fence that it was granted; `undefined` if the store does not know. */
  readonly fence?: bigint | undefined;
}

/** A handle that waits for a lock, as {@linkcode Store.query} lists it. */
export interface WaiterEntry extends Entry {
  /** How many waiters of this lock are ahead of it. */
  readonly rank: number;
  /**
   * `true` for a member of the {@linkcode Granted.run} of the handle that is listed as the holder: their process hands the
   * lock on to it, unless that has happened already; left out for a waiter in the queue.
   */
  readonly member?: boolean | undefined;
}

/**
 * Which locks {@linkcode Store.query} lists; all of them when left out.
 *
 * @example List many locks page by page
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * const store = memory();
 * await using lock = await acquire(store, "invoice:42");
 * let cursor: string | undefined;
 * do {
 *   const page = await store.query!({ match: "invoice:*", limit: 100, cursor });
 *   for (const { name, meta, fence } of page.held) console.log(name, meta, fence === lock.fence);
 *   cursor = page.cursor;
 * } while (cursor !== undefined);
 * ```
 */
export interface QueryOptions {
  /** The name of the only lock to list. Costs as little as an attempt, however many locks there are. */
  readonly name?: string | undefined;
  /** Lists only names that match this pattern, in which `*` stands for any text and all else for itself. */
  readonly match?: string | undefined;
  /**
   * About how many names to list at most, at least 1. More come in further calls, with {@linkcode Snapshot.cursor}. A page
   * may have fewer, or none, although more follow; and a store may list a few more.
   */
  readonly limit?: number | undefined;
  /** Where the page begins: the {@linkcode Snapshot.cursor} of the page before. */
  readonly cursor?: string | undefined;
}

/**
 * From which holders {@linkcode Store.evict} takes the lock; from all of them when left out.
 *
 * @example Evict the holder that was looked at, and nobody that comes after it
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * const store = memory();
 * await using lock = await acquire(store, "invoice:42", { strict: false });
 * const { held: [holder] } = await store.query!({ name: "invoice:42" });
 * console.log(await store.evict!("invoice:42", { handle: holder?.handle })); // 1
 * ```
 */
export interface EvictOptions {
  /** The id of the only handle that is to lose the lock, as {@linkcode Store.query} lists it. */
  readonly handle?: string | undefined;
  /** The fence of the holders that are to lose the lock, as {@linkcode Store.query} lists it. */
  readonly fence?: bigint | undefined;
  /**
   * The description of the caller: the error of a former holder names it, where the store can tell. Added to the host and the
   * process id; `false` tells nothing.
   */
  readonly meta?: Meta | false | undefined;
}

/** The holders and the waiters of the locks of a store, at one moment for each name. */
export interface Snapshot {
  /** The holders. */
  readonly held: readonly HolderEntry[];
  /**
   * The waiters; for each name in the order in which they will be served: first the members of the holder's run, then the
   * queue. A member is listed until the holder's lock ends or it is in the queue again: it may have been handed the lock
   * or have given up meanwhile, of which the store is not told.
   */
  readonly pending: readonly WaiterEntry[];
  /**
   * Where the next page begins; `undefined` on the last page, and when no `limit` was given. A lock that is there while
   * all pages are read is listed in at least one of them.
   */
  readonly cursor?: string | undefined;
}

/**
 * Where locks are kept. A store orders its waiters first come, first served, and answers every call by the owner in
 * the claim, so that a call may be repeated whenever its reply was lost. It rejects when it does not know the outcome
 * (with a {@linkcode StoreError} when it knows that nothing was done); the caller does not have to wait for a call that
 * hangs. A `TypeError` or `RangeError` is for a bad argument and ends a wait at once, like a `StoreError` that is
 * `permanent`: catch those that other code throws, such as `fetch`.
 *
 * `src/testing/` (`@holdfast/lock/testing`) holds the behaviours that every store must show.
 */
export interface Store {
  /**
   * Attempts to acquire the lock. If this handle holds it already (a reply was lost, or the lock was granted to a
   * waiter), the answer is *granted*, with the full lease from now; a lease that ends later than that is left as it is.
   * With `enqueue`, a busy answer leaves the handle in the queue, at the place that it has had since its first attempt,
   * and a further attempt shows that it is still alive.
   *
   * A shared claim or one for a permit is granted beside others of its kind, but not past the queue. An owner that
   * holds the lock already is granted another handle at once, with the fence that it has.
   */
  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt>;
  /**
   * Sets the lease to `claim.lease` milliseconds from now if this handle holds the lock, whether that makes it longer or
   * shorter. A client may send a renewal twice, and late: if the store has executed one of this handle with a larger
   * {@linkcode Claim.renewal}, it answers *renewed* and leaves the lease as it is, because the holder trusts the later one.
   */
  renew(claim: Claim): Promise<Renewal>;
  /**
   * Releases the lock of this handle, or its place in the queue; the waiters that can hold the lock now are served.
   * Resolves to whether there was anything to release.
   */
  release(claim: Claim): Promise<boolean>;
  /**
   * Resolves when another attempt of this queued handle is worthwhile. Only an optimisation: it may resolve without need,
   * and a store without it is polled at `retryAfter`. Resolves as well when `signal` aborts.
   */
  wakeup?(claim: Claim, signal: AbortSignal): Promise<void>;
  /**
   * Drops what is kept in this process of a handle that was taken out of the queue as a member of a run: it was handed
   * the lock, or has given up. Sends nothing. For stores that declare `"runs"`: without it nothing is handed on, and a
   * store that wraps another one has to pass it on.
   */
  forget?(claim: Claim): void;
  /**
   * Gives the place of one handle in the queue to another one of the same process, which attempts next. The first one stops waiting, and is released next. Without it the other handle queues at the end.
   */
  succeed?(from: Claim, to: Claim): Promise<void>;
  /** The optional features that it supports; none when left out. It lists `"evict"` and `"query"` if it has the method. */
  readonly capabilities?: readonly Capability[] | undefined;
  /**
   * Resolves soon after the lock of this handle was revoked by `steal` or {@linkcode evict}, and when `signal` aborts.
   * Only an optimisation: the next renewal finds it out as well. Resolves to the {@linkcode Meta} of the one that has
   * revoked it, if the store knows that.
   */
  revocation?(claim: Claim, signal: AbortSignal): Promise<Meta | void>;
  /**
   * Revokes the lock of all its holders, or of those that `options` names, and serves the queue. Resolves to the number of
   * handles that lost it. Which handles these are is decided in the same step: a handle that is granted the lock after the
   * one that was named keeps it.
   */
  evict?(name: string, options?: EvictOptions): Promise<number>;
  /** Lists the holders and the waiters of the locks of this store, all of them or those that `options` says. */
  query?(options?: QueryOptions): Promise<Snapshot>;
  /** Returns how much earlier than the lease the holder must stop trusting it, in milliseconds: clocks drift apart. */
  readonly drift: (lease: number) => number;
  /** Whether it was closed for good, so that another call is of no use. */
  readonly closed?: boolean;
  /**
   * Why the store cannot be reached at present: the last error of its connection since that was up; `undefined` while it
   * is up, or where there is none.
   */
  readonly connectionError?: Error | undefined;
  /** The observer that is notified of what happens to the locks of this store. */
  readonly observer?: Observer | undefined;
}

/** The options of an attempt. */
export interface AttemptOptions {
  /** Whether to enter the queue when the lock is busy. */
  readonly enqueue: boolean;
  /** Whether to revoke the lock of its holders and acquire it, ahead of the queue. */
  readonly steal?: boolean | undefined;
  /**
   * The ids of other handles of the same process that are in the queue: they are as alive as this one. Only a store that
   * answers {@linkcode Attempt} with `maySleep` is given any.
   */
  readonly alive?: readonly string[] | undefined;
}

/**
 * Returns the clock allowance of a single store: 1 % of the lease, for clocks that run at different speeds, and 2 ms for
 * the resolution of timers and of expiry, as the Redis documentation's description of Redlock proposes.
 */
export function drift(lease: number): number {
  return lease / 100 + 2;
}
