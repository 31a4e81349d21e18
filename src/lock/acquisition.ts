import { AttemptHistory } from "./lease/attempt_history.ts";
import { type Clock, type Instant, monotonicMs, overdue, type Timer } from "../time/clock.ts";
import { clockOf } from "./lease/held_leases.ts";
import { releaseWithRetry } from "../contract/release.ts";
import { show } from "../internal/validation.ts";
import { OVER, UNANSWERED, WaitScope } from "../time/wait_scope.ts";
import { LockConflictError, LockTimeoutError, StoreError } from "../contract/errors.ts";
import type { GaveUpReason } from "../contract/events.ts";
import { isObserved, notify } from "../internal/process/notify.ts";
import { Lease } from "./lease.ts";
import { LeasedLock, type Lock } from "./lock.ts";
import type { Settings } from "./options.ts";
import type { Attempt, Claim, Conflict, Store } from "../contract/store.ts";

/** How long a store may take to answer an attempt, in milliseconds, before the attempt counts as failed. */
const ANSWER_LIMIT_MS = 10_000;

/** How an attempt ended, as its caller sees it; `over` when the wait ended before the attempt was answered. */
type AttemptOutcome =
  | { readonly kind: "granted"; readonly lease: Lease }
  | { readonly kind: "busy"; readonly retryAfter: number }
  | { readonly kind: "conflict"; readonly conflict: Conflict }
  | { readonly kind: "fault"; readonly fault: unknown; readonly sentAt: Instant }
  | { readonly kind: "over" };

/**
 * Attempts, waits and attempts again, until the lock is granted. Resolves to `null` when the lock is busy and
 * `settings.wait` is 0. After any other end the store is cleaned up as soon as it answers. The history records the
 * attempts; it and the clock are those of the store by default.
 */
export async function acquireFrom(
  made: Store | Promise<Store>,
  name: string,
  settings: Settings,
  ownClock?: Clock,
  ownHistory?: AttemptHistory,
): Promise<Lock | null> {
  // Without a pause where the store is there: the attempt is sent before the call returns.
  const store = made instanceof Promise ? await made : made;
  if (made !== store) settings.signal?.throwIfAborted();
  const clock = ownClock ?? clockOf(store);
  const history = ownHistory ?? new AttemptHistory(store, name);
  const acquisition = new Acquisition(store, claimOf(store, name, settings), settings, clock, history);
  try {
    for (;;) {
      const outcome = await acquisition.attempt();
      switch (outcome.kind) {
        case "granted":
          return acquisition.hold(outcome.lease);
        case "conflict":
          return await acquisition.abandon(conflictError(acquisition.claim, outcome.conflict), "conflict");
        case "busy":
          history.busy();
          if (settings.wait > 0) break;
          acquisition.notifyGaveUp("busy");
          return null;
        case "fault":
          notify(store, acquisition.claim, { type: "fault", operation: "attempt", error: outcome.fault });
          history.failed(outcome.fault, outcome.sentAt);
          if (settings.wait > 0 && history.mayRetry(clock)) break;
          return await acquisition.abandon(history.failure(), "store");
      }
      if (outcome.kind !== "over") await acquisition.pause(outcome.kind === "busy" ? outcome.retryAfter : undefined);
      if (acquisition.scope.reached) return await acquisition.abandon(acquisition.scope.reason());
    }
  } finally {
    acquisition.scope.end();
  }
}

/** One call of `acquire` or `tryAcquire`: its steps, each of which ends in a value. */
class Acquisition {
  readonly claim: Claim;
  readonly scope: WaitScope;
  readonly #store: Store;
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #history: AttemptHistory;
  readonly #startedAt: Instant;
  #waiting = false;
  #unanswered: Promise<Attempt> | undefined;
  /** Whether the unanswered attempt has had all the time there is. */
  #hangs = false;
  /** Whether attempts may have left a lock or a place in the queue in the store. */
  #mayHold = false;

  constructor(store: Store, claim: Claim, settings: Settings, clock: Clock, history: AttemptHistory) {
    this.#store = store;
    this.claim = claim;
    this.#settings = settings;
    this.#clock = clock;
    this.#history = history;
    this.#startedAt = clock.now();
    const { signal, wait } = settings;
    this.scope = new WaitScope(signal, wait, () => history.timeout(wait), clock);
  }

  /** Makes one attempt. Never rejects. */
  async attempt(): Promise<AttemptOutcome> {
    const { wait, steal } = this.#settings;
    const sentAt = this.#waiting ? this.#clock.now() : this.#startedAt;
    const mightHold = this.#mayHold;
    this.#mayHold = true;
    let attempt: Attempt;
    let limit: Timer | undefined;
    try {
      this.#unanswered = this.#store.attempt(this.claim, {
        enqueue: wait > 0,
        left: wait - monotonicMs(this.#startedAt, sentAt),
        steal,
      });
      limit = overdue(ANSWER_LIMIT_MS, () => this.scope.abandon(), this.#clock, sentAt);
      this.scope.tidy();
      // A longer wait must not be worse than none: the first attempt is given as much time as that of a call that does
      // not wait.
      attempt = await this.scope.race(this.#unanswered, this.#waiting ? undefined : this.#reachable);
    } catch (error) {
      if (error === OVER) return { kind: "over" };
      if (error === UNANSWERED) {
        this.#hangs = true;
        return { kind: "fault", fault: new Error(`the store did not answer within ${ANSWER_LIMIT_MS} ms`), sentAt };
      }
      this.#unanswered = undefined;
      // A StoreError says that the attempt did nothing.
      if (error instanceof StoreError) this.#mayHold = mightHold;
      return { kind: "fault", fault: error, sentAt };
    } finally {
      limit?.cancel();
    }
    this.#unanswered = undefined;
    if (!attempt.granted) {
      return "conflict" in attempt
        ? { kind: "conflict", conflict: attempt.conflict }
        : { kind: "busy", retryAfter: attempt.retryAfter };
    }
    const lease = new Lease(this.#store, this.claim, this.#settings, sentAt, this.#clock);
    if (lease.begin(attempt.fence, attempt.age)) return { kind: "granted", lease };
    // Too late is as good as never: the store may have given the lock to somebody else.
    return {
      kind: "fault",
      fault: new Error(`the answer took longer than the lease of ${this.claim.lease} ms`),
      sentAt,
    };
  }

  hold(lease: Lease): Lock {
    if (isObserved(this.#store)) {
      notify(this.#store, this.claim, { type: "acquired", fence: lease.fence, waited: this.#waited });
    }
    return new LeasedLock(this.#store, lease, this.#settings, this.#clock);
  }

  /** Notifies the observer that the call ends without the lock. */
  notifyGaveUp(reason: GaveUpReason, error?: unknown): void {
    if (!isObserved(this.#store)) return;
    notify(this.#store, this.claim, { type: "gave_up", reason, waited: this.#waited, error });
  }

  /** Milliseconds since the call. */
  get #waited(): number {
    return monotonicMs(this.#startedAt, this.#clock.now());
  }

  /**
   * Whether an answer may come. While the client reports that it is not connected, no call lasts longer than the wait.
   */
  readonly #reachable = (): boolean => this.#store.connectionError === undefined;

  /** Waits until another attempt makes sense, or the wait is over. After a fault there is no `retryAfter`. */
  async pause(retryAfter: number | undefined): Promise<void> {
    if (this.scope.reached) return;
    if (!this.#waiting && isObserved(this.#store)) notify(this.#store, this.claim, { type: "waiting" });
    this.#waiting = true;
    await this.scope.step((signal) => {
      if (retryAfter !== undefined) return this.#nextTurn(retryAfter, signal);
      // No wake-up ends this pause: one may come of every try, from a connection that is made and lost each time.
      return this.#clock.sleep(this.#history.nextPauseMs(), signal);
    });
  }

  /** Resolves on a wake-up, after `ms` milliseconds, or when the signal aborts. */
  async #nextTurn(ms: number, signal: AbortSignal): Promise<void> {
    const sleep = this.#clock.sleep(ms, signal);
    const wakeup = async () => await this.#store.wakeup?.(this.claim, signal);
    // A store that cannot wake its waiters is polled.
    await Promise.race([sleep, this.#store.wakeup === undefined ? sleep : wakeup().catch(() => sleep)]);
  }

  /** Undoes the attempts and throws the error; by default because the wait is over. */
  async abandon(error: unknown, reason: GaveUpReason = endOf(this.scope, error)): Promise<never> {
    this.notifyGaveUp(reason, error);
    const undone = this.#undo();
    // A store that hangs is not waited for.
    if (!this.#hangs) await this.scope.undo(undone, this.#reachable);
    throw error;
  }

  /**
   * Releases what the attempts may have left in the store; with retries if anything may be left. An unanswered attempt
   * may still be granted the lock: it is released when the answer comes.
   */
  #undo(): Promise<unknown> {
    const answered = (this.#unanswered ?? Promise.resolve()).catch(() => {});
    const released = answered.then(() => this.#store.release(this.claim));
    // Nobody waits for the retries: what they cannot release ends with its lease, and a place with its waiter timeout.
    released.catch(() => this.#mayHold && releaseWithRetry(this.#store, this.claim, this.#clock)).catch(() => {});
    return released;
  }
}

/** Returns why a call whose wait is over gives up. The reason of a signal may be an error of any kind. */
function endOf({ reached }: WaitScope, error: unknown): GaveUpReason {
  if (reached === "signal") return "aborted";
  return error instanceof LockTimeoutError ? "timeout" : "store";
}

function claimOf(store: Store, name: string, settings: Settings): Claim {
  const { mode, permits, owner, client, lease, meta, needs } = settings;
  for (const need of needs) {
    if (store.capabilities?.includes(need)) continue;
    throw new TypeError(`${need === "shared" ? `mode "shared"` : need} is not supported by this store`);
  }
  const uuid = crypto.randomUUID();
  const id = client === undefined ? uuid : `${client}:${uuid}`;
  const handle = owner === undefined ? undefined : `${owner}/${id}`;
  return { name, mode, permits, lease, owner: owner ?? id, handle, meta };
}

function conflictError({ name, mode, permits, owner }: Claim, { present, own }: Conflict): LockConflictError {
  const held = typeof present === "number" ? `with ${present} permits` : `in mode "${present}"`;
  const asked = permits === undefined ? `in mode "${mode}"` : `with ${permits} permits`;
  const why = own ? `by the owner ${show(owner)} itself, which would wait for itself` : "at present";
  return new LockConflictError(`Cannot acquire lock "${name}" ${asked}: it is held ${held} ${why}`);
}
