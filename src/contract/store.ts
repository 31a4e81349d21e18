import type { Observer } from "./events.ts";

/** How a lock is held: by one owner, or shared by any number. The words are those of the Web Locks API. */
export type Mode = "exclusive" | "shared";

/** The kind of lock that a name is while it is held: its mode, or the number of permits of a semaphore. */
export type Kind = Mode | number;

/** A request for a lock: who wants which lock, for how long. Each call to a {@linkcode Store} carries one. */
export interface Claim {
  /** The name of the lock, 1 to 1,024 bytes of UTF-8. */
  readonly name: string;
  /** The owner that holds the lock or waits for it: the `owner` option, else a new UUID for every `acquire`. */
  readonly owner: string;
  /**
   * The id of the handle, if the caller gave the owner: the owner, a slash and a UUID. Left out when the owner is the
   * id of the handle.
   */
  readonly handle?: string | undefined;
  /** How the lock is held. */
  readonly mode: Mode;
  /** Of a semaphore: how many owners may hold the lock at once, at least 1. */
  readonly permits?: number | undefined;
  /** How long the store keeps the lock after the grant or the last renewal, in milliseconds. */
  readonly lease: number;
  /**
   * The number of this renewal of the handle, a whole number that only rises; 0 when left out. Present once the handle
   * has changed the length of its lease, see {@linkcode Store.renew}.
   */
  readonly renewal?: number | undefined;
  /**
   * How many fences to reserve, at least 1; 1 when left out. Larger than 1 only in exclusive claims with a fresh owner.
   * The store may reserve fewer, see {@linkcode Granted.fences}; a store that does not declare `"fences"` ignores the
   * number.
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

/** A lock that was granted. */
export interface Granted {
  /** Whether the lock is granted. */
  readonly granted: true;
  /** Larger than every fence granted before for this name. */
  readonly fence: bigint;
  /**
   * How many fences were reserved, 1 when left out: `fence` and the following numbers. No other grant gets any of these
   * fences, and the fences of later grants are larger. The last fence is at most 10 ms ahead of the store's clock in
   * microseconds, unless `fence` itself is.
   */
  readonly fences?: number | undefined;
  /** How much of the lease had passed when the attempt was made, in milliseconds; 0 when left out. */
  readonly age?: number | undefined;
  /** Whether other handles were waiting in the queue when the lock was granted; left out when not known. */
  readonly contended?: boolean | undefined;
  /**
   * A *run*: the ids of the handles with the same {@linkcode Claim.group} that came next in the queue, in its order.
   * They were taken out of the queue together with this one. Their process may hand the lock on to each in turn, under
   * the lease of this handle, and releases it once at the end. The fence of the first of them is `fence + 1`, and so
   * on. A handle that is not handed the lock attempts again, and has its former place in the queue.
   */
  readonly run?: readonly string[] | undefined;
}

/**
 * How an attempt ended. The lock is granted; or it is busy, and another attempt makes sense later; or the claim
 * conflicts with the present holders, and nothing was done.
 */
export type Attempt =
  | Granted
  | {
    readonly granted: false;
    /** When to attempt again if no wake-up comes before, in milliseconds from now. */
    readonly retryAfter: number;
    /**
     * Whether this handle may sleep until its wake-up, as long as another handle of its process attempts and names it
     * in {@linkcode AttemptOptions.alive}; no when left out.
     */
    readonly maySleep?: boolean | undefined;
  }
  | {
    readonly granted: false;
    /** The conflict of the claim. */
    readonly conflict: Conflict;
  };

/** How a renewal ended. A call that fails or is never answered has neither outcome: how it ended is unknown. */
export type Renewal = "renewed" | "lost";

/**
 * A feature that not every store supports: an option of `acquire` (`mode: "shared"`, `permits`, `owner`, `steal`), a
 * method ({@linkcode Store.evict}, {@linkcode Store.query}), or a part of a grant ({@linkcode Claim.fences}, `"runs"`
 * for {@linkcode Claim.group}). No capability implies another: a store with `"owner"` need not have `"shared"`.
 */
export type Capability = "shared" | "permits" | "owner" | "steal" | "evict" | "query" | "fences" | "runs";

/** All capabilities. */
export const CAPABILITIES: readonly Capability[] = [
  ...["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"] as const,
];

/** A handle that holds a lock or waits for it, as {@linkcode Store.query} lists it. */
export interface Entry {
  /** The name of the lock. */
  readonly name: string;
  /** The owner of the handle. */
  readonly owner: string;
  /** The id of the handle; the same as `owner` unless the caller gave the owner. */
  readonly handle: string;
  /** How the handle holds the lock, or wants to hold it. */
  readonly mode: Mode;
  /** Of a semaphore: how many owners may hold the lock at once. */
  readonly permits?: number | undefined;
  /** The description of the handle; `undefined` if its claim has no {@linkcode Claim.meta}. */
  readonly meta?: Meta | undefined;
  /**
   * Since when it holds the lock or waits for it: milliseconds since the Unix epoch, by the clock of the store, to
   * within 10 ms; of a holder that has attempted again, perhaps since that attempt. `undefined` if the store does not
   * know.
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
  /** How many waiters of this lock are ahead of this waiter. */
  readonly rank: number;
  /**
   * `true` for a member of the {@linkcode Granted.run} of the listed holder: their process hands the lock on to the
   * member, or has done so already. Left out for a waiter in the queue.
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
 *   const page = await store.query({ match: "invoice:*", limit: 100, cursor });
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
   * About how many names to list at most, at least 1. Further calls list the following names, with {@linkcode
   * Snapshot.cursor}. A page may have fewer names, or none, although more follow; it may also have a few more.
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
 * const { held: [holder] } = await store.query({ name: "invoice:42" });
 * console.log(await store.evict("invoice:42", { handle: holder?.handle })); // 1
 * ```
 */
export interface EvictOptions {
  /** The id of the only handle that is to lose the lock, as {@linkcode Store.query} lists it. */
  readonly handle?: string | undefined;
  /** The fence of the holders that are to lose the lock, as {@linkcode Store.query} lists it. */
  readonly fence?: bigint | undefined;
  /**
   * The description of the caller, added to its host and process id. The error of a former holder shows it, where the
   * store can tell. `false` stores no description.
   */
  readonly meta?: Meta | false | undefined;
}

/** The holders and the waiters of the locks of a store, at one moment for each name. */
export interface Snapshot {
  /** The holders. */
  readonly held: readonly HolderEntry[];
  /**
   * The waiters; for each name in the order in which they will be served: first the members of the holder's run, then
   * the queue. A member is listed until the holder's lock ends or the member is in the queue again. Meanwhile it may
   * have been handed the lock or have given up: the store is not told.
   */
  readonly pending: readonly WaiterEntry[];
  /**
   * Where the next page begins; `undefined` on the last page, and when no `limit` was given. A lock that exists while
   * all pages are read is listed on at least one page.
   */
  readonly cursor?: string | undefined;
}

/**
 * A system that keeps locks. It orders waiters first come, first served, and answers every call by the owner in the
 * claim, so that a call may be repeated whenever its reply was lost. It rejects when it does not know the outcome (with
 * a {@linkcode StoreError} when it knows that nothing was done); the caller does not have to wait for a call that
 * hangs. A `TypeError` or `RangeError` means a bad argument and ends a wait at once, like a `StoreError` that is
 * `permanent`: catch such errors of other code, for example of `fetch`.
 *
 * `packages/testing/src/` (`@holdfast/testing`) holds the behaviours that every store must show.
 */
export interface Store {
  /**
   * Attempts to acquire the lock. If this handle holds it already (a reply was lost, or the lock was granted to a
   * waiter), the answer is *granted*, with the full lease from now; a lease that ends later stays. With `enqueue`, a
   * busy answer leaves the handle in the queue, in its place since the first attempt, and a further attempt shows that
   * it is still alive.
   *
   * A shared claim or one for a permit is granted beside others of its kind, but not past the queue. An owner that
   * holds the lock already is granted another handle at once, with the fence that it has.
   */
  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt>;
  /**
   * Sets the lease to `claim.lease` milliseconds from now if this handle holds the lock, whether that makes it longer
   * or shorter. A client may send a renewal twice, and late: if the store has executed a renewal of this handle with a
   * larger {@linkcode Claim.renewal}, it answers *renewed* and leaves the lease unchanged, because the holder trusts
   * the later renewal.
   */
  renew(claim: Claim): Promise<Renewal>;
  /**
   * Releases the lock of this handle, or its place in the queue; the waiters that can hold the lock now are served.
   * Resolves to whether there was anything to release.
   */
  release(claim: Claim): Promise<boolean>;
  /**
   * Resolves when another attempt of this queued handle is worthwhile. Only an optimisation: it may resolve without
   * need, and a store without it is polled at `retryAfter`. Resolves as well when `signal` aborts.
   */
  wakeup?(claim: Claim, signal: AbortSignal): Promise<void>;
  /**
   * Drops the state in this process of a handle that will not be released: a member of a run that was handed the lock
   * or has given up, or a holder that leaves the lock to its lease. Sends nothing. For stores that declare `"runs"`:
   * without this method nothing is handed on, and a store that wraps another store passes the call on.
   */
  forget?(claim: Claim): void;
  /**
   * Gives the place of the handle `from` in the queue to the handle `to` of the same process, which attempts next.
   * `from` stops waiting, and is released next. Without this method the other handle queues at the end.
   */
  succeed?(from: Claim, to: Claim): Promise<void>;
  /**
   * The optional features that the store supports; none when left out. Lists `"evict"` and `"query"` if the store has
   * the method.
   */
  readonly capabilities?: readonly Capability[] | undefined;
  /**
   * Resolves soon after the lock of this handle was revoked by `steal` or {@linkcode evict}, and when `signal` aborts.
   * Only an optimisation: the next renewal detects it as well. Resolves to the {@linkcode Meta} of the caller that
   * revoked the lock, if the store knows it.
   */
  revocation?(claim: Claim, signal: AbortSignal): Promise<Meta | void>;
  /**
   * Revokes the lock of all its holders, or of the holders that `options` names, and serves the queue. Resolves to the
   * number of handles that lost the lock. The handles are chosen in the same step: a later holder than the named one
   * keeps the lock.
   */
  evict?(name: string, options?: EvictOptions): Promise<number>;
  /**
   * Lists the holders and the waiters of the locks of this store: of all locks, or of the locks that `options` selects.
   */
  query?(options?: QueryOptions): Promise<Snapshot>;
  /** Returns how much earlier than the lease the holder must stop trusting it, in milliseconds: clocks drift apart. */
  readonly drift: (lease: number) => number;
  /** Whether the store was closed for good: another call is of no use. */
  readonly closed?: boolean;
  /**
   * Why the store cannot be reached at present: the last error of its connection since it was up; `undefined` while it
   * is up, or where there is no connection.
   */
  readonly connectionError?: Error | undefined;
  /** The observer that is notified of events of the locks of this store. */
  readonly observer?: Observer | undefined;
}

/** A store that can revoke the locks of holders, and list all locks. */
export type ListingStore = Store & Required<Pick<Store, "evict" | "query">>;

/** The options of an attempt. */
export interface AttemptOptions {
  /** Whether to enter the queue when the lock is busy. */
  readonly enqueue: boolean;
  /**
   * For how many more milliseconds the caller waits; left out if not known. A store that acts otherwise at the end of a
   * wait may answer with a `retryAfter` before that end.
   */
  readonly left?: number | undefined;
  /** Whether to acquire the lock ahead of the queue, and to revoke it of holders that have another owner. */
  readonly steal?: boolean | undefined;
  /**
   * The ids of other queued handles of the same process, which are as alive as this handle. Only a store that answers
   * {@linkcode Attempt} with `maySleep` is given any.
   */
  readonly alive?: readonly string[] | undefined;
}

/**
 * Returns the clock allowance of a single store: 1 % of the lease, for clocks that run at different speeds, and 2 ms
 * for the resolution of timers and of expiry, as the Redis documentation's description of Redlock proposes.
 */
export function drift(lease: number): number {
  return lease / 100 + 2;
}
