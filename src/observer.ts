/**
 * What happened to a lock, told to the {@linkcode Observer} of its store. `name` and `owner` are those of the lock;
 * every duration is in milliseconds.
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
    /** What is left of the lease now. */
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
    /** A call to the store failed. Unless another event tells so, the lock is as it was before. */
    readonly type: "fault";
    readonly name: string;
    readonly owner: string;
    readonly operation: "attempt" | "renew" | "release";
    readonly error: unknown;
  }
  | {
    /** The client of the store is set up in a way that hides failures. Told once, when the first lock is asked for. */
    readonly type: "warning";
    readonly name: string;
    readonly owner: string;
    readonly message: string;
  };

/**
 * Hears what happens to the locks of one store, synchronously. What it throws is dropped.
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

/** Tells the observer, if there is one; what it throws, at once or later, disturbs nothing. */
export function tell(observer: Observer | undefined, event: LockEvent): void {
  try {
    const heard: unknown = observer?.(event);
    if (heard instanceof Promise) heard.catch(() => {});
  } catch {
    // An observer is a guest: a broken one must not cost anybody a lock.
  }
}
