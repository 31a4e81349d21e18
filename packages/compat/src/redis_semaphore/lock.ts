import { acquire, type Lock, LockLostError, LockTimeoutError, type Store } from "@holdfast/lock";
import { show } from "@holdfast/lock/authors";
import { SystemClock, type Timer } from "../clock.ts";
import { warnOnce } from "../warning.ts";
import { type AttemptLimits, LimitedStore } from "../limited_store.ts";
import { LostLockError, TimeoutError } from "./errors.ts";
import { type SemaphoreSettings, type SemaphoreTimeouts, settingsOf } from "./options.ts";

const CLOCK = new SystemClock();

/** Called when a lock is lost, on its mutex or semaphore. */
export type LockLostCallback = (this: SemaphoreLock, error: LostLockError) => void;

/** The options of a mutex or semaphore. */
export interface SemaphoreLockOptions extends SemaphoreTimeouts {
  /**
   * Called when the lock is lost. Its errors are ignored. Without it the process is warned once (`HoldfastWarning`): a
   * loss never ends the process.
   */
  onLockLost?: LockLostCallback | undefined;
}

/** The store, the name and the kind of a mutex or semaphore. */
interface SemaphoreSubject {
  readonly store: Store;
  readonly name: string;
  readonly permits?: number;
  /** Whether faults count as refusals, until the limits of the call. */
  readonly toleratesFaults?: boolean;
}

/** A lock with the interface of redis-semaphore: one object for many locks of one name, one after the other. */
export abstract class SemaphoreLock implements AsyncDisposable {
  readonly #subject: SemaphoreSubject;
  readonly #hold: SemaphoreSettings["hold"];
  readonly #limits: AttemptLimits;
  readonly #onLockLost: ((error: LostLockError) => unknown) | undefined;
  /** The locks that are held, each from a call of its own; else the lock that was held last. */
  #locks: Lock[] = [];
  #stopping: Timer | undefined;

  /** Checks the options; acquires nothing. */
  constructor(subject: SemaphoreSubject, options: SemaphoreLockOptions = {}) {
    const { onLockLost } = options;
    const { hold, limits } = settingsOf(options);
    this.#subject = subject;
    this.#hold = hold;
    this.#limits = { ...limits, onFault: subject.toleratesFaults ? () => {} : undefined };
    if (onLockLost !== undefined && typeof onLockLost !== "function") {
      throw new TypeError(`onLockLost must be a function: got ${show(onLockLost)}`);
    }
    this.#onLockLost = onLockLost?.bind(this);
  }

  get #lock(): Lock | undefined {
    return this.#locks.at(-1);
  }

  /** The value of the lock's key, a new one for each lock; empty before the first. */
  get identifier(): string {
    return this.#lock?.owner ?? "";
  }

  /** Whether the lock is held, by this machine's clock. */
  get isAcquired(): boolean {
    return this.#lock?.held ?? false;
  }

  /** The fencing token of the lock: larger than the token of every earlier holder. */
  get fence(): bigint | undefined {
    return this.#lock?.fence;
  }

  /** Aborts when the lock is lost; does not abort when it is released. */
  get signal(): AbortSignal | undefined {
    return this.#lock?.signal;
  }

  /**
   * Waits for the lock, first come, first served.
   *
   * @throws {TimeoutError} when it was not free in time
   * @throws the reason of the signal, when that aborts before
   */
  async acquire(signal?: AbortSignal): Promise<void> {
    const lock = await this.#acquire(signal);
    this.#stopping?.cancel();
    this.#locks = [...this.#locks.filter(({ held }) => held), lock];
    lock.signal.addEventListener("abort", () => this.#report(lock.signal.reason), { once: true });
  }

  async #acquire(signal: AbortSignal | undefined): Promise<Lock> {
    const { store: target, name, permits, toleratesFaults = false } = this.#subject;
    const { attempts, time } = this.#limits;
    if (attempts < 1 || time === 0) {
      const limit = time === 0 ? "acquireTimeout is 0" : `acquireAttemptsLimit is ${attempts}`;
      throw new TimeoutError(`Cannot acquire lock "${name}" without an attempt: ${limit}`);
    }
    const store = new LimitedStore(target, this.#limits);
    try {
      return await store.run(signal, (signal) => acquire(store, name, { ...this.#hold, permits, signal }));
    } catch (error) {
      if (!(error instanceof LockTimeoutError || toleratesFaults && store.over)) throw error;
      throw new TimeoutError((error as Error).message, { cause: error });
    }
  }

  /** Waits for the lock like {@linkcode acquire}. Resolves to `false` when it was not free in time. */
  async tryAcquire(signal?: AbortSignal): Promise<boolean> {
    try {
      await this.acquire(signal);
      return true;
    } catch (error) {
      if (error instanceof TimeoutError) return false;
      throw error;
    }
  }

  /** Stops the renewal: the lock ends with its present lease. */
  stopRefresh(): void {
    const lock = this.#lock;
    if (lock === undefined || !lock.held) return;
    this.#stopping?.cancel();
    // Its lease ends at the same moment.
    this.#stopping = CLOCK.timer(lock.remaining(), () => void lock.release().catch(() => {}));
  }

  /** Releases the lock that was acquired last. Does nothing if no lock is held, even if it was lost. */
  async release(): Promise<void> {
    this.#stopping?.cancel();
    const lock = this.#locks.length > 1 ? this.#locks.pop() : this.#lock;
    await lock?.release().catch((error) => {
      if (!(error instanceof LockLostError)) throw error;
    });
  }

  /** Releases the lock at the end of an `await using` scope. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /** Calls `onLockLost` outside the listener of the signal, where an error would end the process. */
  async #report(cause: Error): Promise<void> {
    const error = new LostLockError(cause.message, { cause });
    if (this.#onLockLost === undefined) return warnOnce("lost", `${error.message}. Pass onLockLost to be notified`);
    try {
      await this.#onLockLost(error);
    } catch (error) {
      warnOnce("onLockLost", `onLockLost has thrown: ${error}`);
    }
  }
}

/** Throws unless `key` can be the key of a lock. */
export function checkKey(key: string): string {
  if (typeof key !== "string") throw new TypeError(`key must be a string: got ${show(key)}`);
  if (key === "") throw new RangeError('key must not be empty: got ""');
  return key;
}
