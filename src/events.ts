/**
 * Something that happened to a lock, as the {@linkcode Observer} of its store is notified of it. `name` and `owner` are
 * those of the lock. Every duration is in milliseconds.
 */
export type LockEvent =
  | {
    readonly type: "waiting";
    readonly name: string;
    readonly owner: string;
  }
  | {
    readonly type: "acquired";
    readonly name: string;
    readonly owner: string;
    readonly fence: bigint;
    /** From the call of `acquire` to the grant. */
    readonly waited: number;
  }
  | {
    readonly type: "renewed";
    readonly name: string;
    readonly owner: string;
    /** Until the lease ends now. */
    readonly remaining: number;
  }
  | {
    readonly type: "released";
    readonly name: string;
    readonly owner: string;
  }
  | {
    readonly type: "lost";
    readonly name: string;
    readonly owner: string;
    readonly error: Error;
  }
  | {
    /**
     * A call to the store failed, or has not been answered in time and may still be. An attempt is given 10 s. A renewal
     * is given its interval, a second at least, or half of what is left of the lease if that is less. Unless another
     * event says otherwise, the state of the lock has not changed.
     */
    readonly type: "fault";
    readonly name: string;
    readonly owner: string;
    readonly operation: "attempt" | "renew" | "release";
    readonly error: unknown;
  }
  | {
    /**
     * The client of the store is configured in a way that hides failures (once, when the first lock is acquired), or its
     * server refuses to wake waiters (once).
     */
    readonly type: "warning";
    readonly name: string;
    readonly owner: string;
    readonly message: string;
  };

/**
 * A function that is called with each event of the locks of one store, synchronously. What it throws is ignored.
 *
 * @example Count the locks that were lost
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * let lost = 0;
 * const store = memory({
 *   observer: (event) => {
 *     if (event.type === "lost") lost++;
 *   },
 * });
 * await using lock = await acquire(store, "report");
 * ```
 */
export type Observer = (event: LockEvent) => void;

/** Calls the observer, if there is one. What it throws or rejects with is ignored. */
export function notify(observer: Observer | undefined, event: LockEvent): void {
  try {
    const result: unknown = observer?.(event);
    if (result instanceof Promise) result.catch(() => {});
  } catch {
    // A broken observer must not cost anybody a lock.
  }
}
