/** The handle that an event is about. */
export interface EventSubject {
  /** The name of the lock. */
  readonly name: string;
  /** The owner of the handle. */
  readonly owner: string;
  /** The id of the handle: one `acquire` call. */
  readonly handle: string;
  /** How the handle holds the lock, or wants to hold it. */
  readonly mode: "exclusive" | "shared";
  /** Of a semaphore: how many owners may hold the lock at once. */
  readonly permits?: number | undefined;
}

/**
 * Why a call of `acquire` or `tryAcquire` ended without the lock:
 *
 * - `busy`: the one attempt of a call that does not wait found the lock busy.
 * - `timeout`: `wait` was over, and the lock was busy when the store last answered.
 * - `aborted`: its `signal` aborted.
 * - `conflict`: the lock is held with other permits, or by the same owner in another mode, so that the call would wait
 *   for itself.
 * - `store`: the store failed, for too long or for good, or did not answer until `wait` was over.
 */
export type GaveUpReason = "busy" | "timeout" | "aborted" | "conflict" | "store";

/**
 * Why a lock was lost before its holder released it:
 *
 * - `expired`: its lease ended before it was renewed.
 * - `revoked`: the store reported that `steal` or `evict` took it. Only for a holder that has read its `signal`.
 * - `missing`: the store no longer had the lock when it was renewed or released: the lock was revoked, or its data is
 *   gone.
 */
export type LossReason = "expired" | "revoked" | "missing";

/**
 * Something that happened to a lock. The {@linkcode Observer} of its store and the subscribers of the diagnostics
 * channel `holdfast:lock` are notified of it. Every duration is in milliseconds. `JSON.stringify` writes the fence and
 * the error of an event as text; in a copy of the event, write `String(event.fence)`.
 *
 * Each call of `acquire` or `tryAcquire` that has asked the store ends in exactly one `acquired` or `gave_up`. After
 * `acquired` comes one `released` or one `lost`, never both; neither if the holder never releases the lock, or the
 * store never answers its release. `acquireAll` makes a call for each name, and another call for each further try. A
 * `fault` may come after any of them: what a call leaves behind is released in the background.
 */
export type LockEvent =
  & EventSubject
  & (
    | {
      /** The lock was busy, or the store failed: the call begins to wait. At most once for each call. */
      readonly type: "waiting";
    }
    | {
      /** The handle holds the lock. */
      readonly type: "acquired";
      readonly fence: bigint;
      /** From the call of `acquire` to the grant. */
      readonly waited: number;
    }
    | {
      /** The call ends without the lock. */
      readonly type: "gave_up";
      readonly reason: GaveUpReason;
      /** From the call of `acquire` until now. */
      readonly waited: number;
      /** The error of the call; `undefined` with the reason `busy`. `acquireAll` may reject with another error. */
      readonly error?: unknown;
    }
    | {
      /** A renewal succeeded. */
      readonly type: "renewed";
      /** Until the lease ends now. */
      readonly remaining: number;
    }
    | {
      /** The holder released the lock, and the store has answered. With `atLeast` it may be kept for a while yet. */
      readonly type: "released";
      readonly fence: bigint;
      /** From the grant until `release` was called. */
      readonly held: number;
    }
    | {
      /** The lock ended before its holder released it, or may have. */
      readonly type: "lost";
      readonly reason: LossReason;
      readonly fence: bigint;
      /** From the grant until now. */
      readonly held: number;
      /** The reason with which `lock.signal` aborts. */
      readonly error: Error;
    }
    | {
      /**
       * A call to the store failed, or has not been answered in time and may still be. An attempt is given 10 s. A
       * renewal is given its interval, a second at least, or half of what is left of the lease if that is less. Unless
       * another event says otherwise, the state of the lock has not changed.
       */
      readonly type: "fault";
      readonly operation: "attempt" | "renew" | "release";
      readonly error: unknown;
    }
    | {
      /**
       * The client of the store is configured in a way that hides failures, or its server refuses to wake waiters. Each
       * is notified once, when the first lock is acquired.
       */
      readonly type: "warning";
      readonly message: string;
    }
  );

/**
 * A function that is called with each event of the locks of one store, synchronously. Errors that it throws, or rejects
 * with, are ignored; the process is warned once (`HoldfastWarning`).
 *
 * @example Count the locks that were lost, and why
 * ```ts
 * import { acquire, type LossReason } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * const lost: Record<LossReason, number> = { expired: 0, revoked: 0, missing: 0 };
 * const store = memory({
 *   observer: (event) => {
 *     if (event.type === "lost") lost[event.reason]++;
 *   },
 * });
 * await using lock = await acquire(store, "report");
 * ```
 */
export type Observer = (event: LockEvent) => void;
