import { backoffMs, type Clock, type Instant, monotonicMs } from "../../time/clock.ts";
import { isPermanent, storeError } from "../../internal/failure.ts";
import { timeoutError } from "./held_leases.ts";
import type { Store } from "../../contract/store.ts";

/** How long a waiter retries while every attempt fails, in milliseconds: the time of a failover, with reserve. */
const FAULT_TOLERANCE_MS = 10_000;

/** The pauses between failed attempts, in milliseconds: the first and the longest. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;

/** The faults since the store last answered. */
interface Failing {
  readonly since: Instant;
  readonly fault: unknown;
}

/** The attempts to acquire one lock so far: the store's last answer, and its faults since then. */
export class AttemptHistory {
  readonly #store: Store;
  readonly name: string;
  #answeredBusy = false;
  #failing: Failing | undefined;
  #retries = 0;

  constructor(store: Store, name: string) {
    this.#store = store;
    this.name = name;
  }

  /** Records that the store answered: another handle holds the lock. */
  busy(): void {
    this.#answeredBusy = true;
    this.#failing = undefined;
    this.#retries = 0;
  }

  failed(fault: unknown, sentAt: Instant): void {
    this.#failing = { since: this.#failing?.since ?? sentAt, fault };
  }

  /** Returns whether to retry: the last attempt failed, the fault may pass, and it has lasted only for a short time. */
  mayRetry(clock: Clock): boolean {
    if (this.#failing === undefined || isPermanent(this.#failing.fault) || this.#store.closed) return false;
    return monotonicMs(this.#failing.since, clock.now()) < FAULT_TOLERANCE_MS;
  }

  /** Returns the pause before the next attempt, in milliseconds. It grows until the store answers. */
  nextPauseMs(): number {
    return backoffMs(this.#retries++, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  }

  /** Creates the error for a store that failed. A bad argument is the error itself. */
  failure(): Error {
    const fault = this.#failing?.fault;
    if (fault instanceof TypeError || fault instanceof RangeError) return fault;
    return storeError(this.#store, `Cannot acquire lock "${this.name}"`, fault);
  }

  /**
   * Creates the error for a wait that is over: `LockTimeoutError` only if the store has answered that the lock is busy.
   */
  timeout(wait: number, others = ""): Error {
    const what = `Cannot acquire lock "${this.name}"${others} within ${wait} ms`;
    const fault = this.#failing?.fault;
    if (!this.#answeredBusy) return storeError(this.#store, what, fault);
    return timeoutError(this.#store, this.name, what, fault);
  }
}
