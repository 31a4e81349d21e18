import { acquire } from "../../acquire.ts";
import { LockLostError, LockTimeoutError } from "../../errors.ts";
import { clockOf } from "../../internal/lease/held_leases.ts";
import { warnOnce } from "../../internal/process/warning.ts";
import type { Timer } from "../../internal/time/clock.ts";
import { show } from "../../internal/validation.ts";
import type { Lock } from "../../lock.ts";
import type { AcquireOptions } from "../../options.ts";
import type { Store } from "../../store.ts";
import { LostLockError, TimeoutError } from "./errors.ts";
import { acquireOptionsOf, type SemaphoreTimeouts } from "./options.ts";

/** Called when a lock is lost, on its mutex or semaphore. */
export type LockLostCallback = (this: SemaphoreLock, error: LostLockError) => void;

/** The options of a mutex or semaphore. */
export interface SemaphoreLockOptions extends SemaphoreTimeouts {
  /**
   * Called when the lock is lost. What it throws is ignored. Without it the process is warned once (`HoldfastWarning`):
   * a loss never ends the process.
   */
  onLockLost?: LockLostCallback | undefined;
}

/** What a mutex or semaphore is made for. */
interface SemaphoreSubject {
  readonly store: Store;
  readonly name: string;
  readonly permits?: number;
}

/** A lock with the interface of redis-semaphore: one object for many locks of one name, one after the other. */
export abstract class SemaphoreLock implements AsyncDisposable {
  readonly #subject: SemaphoreSubject;
  readonly #options: AcquireOptions;
  readonly #onLockLost: ((error: LostLockError) => unknown) | undefined;
  /** The locks that are held, each acquired by a call of its own, or the last one that was. */
  #locks: Lock[] = [];
  #stopping: Timer | undefined;

  /** Checks the options; acquires nothing. */
  constructor(subject: SemaphoreSubject, options: SemaphoreLockOptions = {}) {
    const { permits } = subject;
    const { onLockLost } = options;
    this.#subject = subject;
    this.#options = { ...acquireOptionsOf(options), ...permits !== undefined && { permits } };
    if (onLockLost !== undefined && typeof onLockLost !== "function") {
      throw new TypeError(`onLockLost must be a function: got ${show(onLockLost)}`);
    }
    this.#onLockLost = onLockLost?.bind(this);
  }

  get #lock(): Lock | undefined {
    return this.#locks.at(-1);
  }

  /** What the key of the lock contains, another value for each lock; empty before the first one. */
  get identifier(): string {
    return this.#lock?.owner ?? "";
  }

  /** Whether the lock is held, by this machine's clock. */
  get isAcquired(): boolean {
    return this.#lock?.held ?? false;
  }

  /** The fencing token of the lock: larger than that of every earlier holder. */
  get fence(): bigint | undefined {
    return this.#lock?.fence;
  }

  /** Aborts when the lock is lost; not when it is released. */
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
    const { store, name } = this.#subject;
    const lock = await acquire(store, name, { ...this.#options, signal }).catch((error) => {
      if (!(error instanceof LockTimeoutError)) throw error;
      throw new TimeoutError(error.message, { cause: error });
    });
    this.#stopping?.cancel();
    this.#locks = [...this.#locks.filter(({ held }) => held), lock];
    lock.signal.addEventListener("abort", () => this.#report(lock.signal.reason), { once: true });
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

  /** Releases the lock when its present lease ends. */
  stopRefresh(): void {
    const lock = this.#lock;
    if (lock === undefined || !lock.held) return;
    this.#stopping?.cancel();
    this.#stopping = clockOf(this.#subject.store).timer(lock.remaining(), () => void lock.release().catch(() => {}));
  }

  /** Releases the lock that was acquired last. Does nothing if none is held, also if it was lost. */
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

  /** Calls `onLockLost`; in the listener of a signal, an error of it would end the process. */
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
