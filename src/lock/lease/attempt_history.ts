import { backoffMs } from "../time/backoff.ts";
import { type Clock, elapsed, type Instant } from "../time/clock.ts";
import { isPermanent, storeError } from "../failure.ts";
import { timeoutError } from "./timeout_error.ts";
import type { Store } from "../../store.ts";

/** How long a waiter retries while the store does nothing but fail, in milliseconds: a failover, with reserve. */
const FAULT_TOLERANCE_MS = 10_000;

/** The pauses between attempts that fail, in milliseconds: the first one and the longest one. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;

/** The faults since the store last answered. */
interface Failing {
  /** When the first attempt that failed was sent. */
  readonly since: Instant;
  /** How the last one failed. */
  readonly fault: unknown;
}

/** How the attempts to acquire one lock have ended so far: what the store answered last, and its faults since then. */
export class AttemptHistory {
  readonly #store: Store;
  readonly #name: string;
  #answeredBusy = false;
  #failing: Failing | undefined;
  #retries = 0;

  /** Begins a history without attempts. */
  constructor(store: Store, name: string) {
    this.#store = store;
    this.#name = name;
  }

  /** Notes that the store answered: another handle holds the lock. */
  busy(): void {
    this.#answeredBusy = true;
    this.#failing = undefined;
    this.#retries = 0;
  }

  /** Notes that an attempt, sent at that moment, failed. */
  failed(fault: unknown, sentAt: Instant): void {
    this.#failing = { since: this.#failing?.since ?? sentAt, fault };
  }

  /** Returns whether to retry: the last attempt failed, the fault may pass, and it has not lasted for long. */
  mayRetry(clock: Clock): boolean {
    if (this.#failing === undefined || isPermanent(this.#failing.fault) || this.#store.closed) return false;
    return elapsed(this.#failing.since, clock.now()) < FAULT_TOLERANCE_MS;
  }

  /** Returns the pause before the next attempt, in milliseconds: longer each time, until the store answers. */
  nextPauseMs(): number {
    return backoffMs(this.#retries++, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  }

  /** Makes the error for a store that failed. A bad argument is the error itself. */
  failure(): Error {
    const fault = this.#failing?.fault;
    if (fault instanceof TypeError || fault instanceof RangeError) return fault;
    return storeError(this.#store, `Cannot acquire lock "${this.#name}"`, fault);
  }

  /** Makes the error for a wait that is over: `LockTimeoutError` only if the store has answered that the lock is busy. */
  timeout(wait: number, others = ""): Error {
    const what = `Cannot acquire lock "${this.#name}"${others} within ${wait} ms`;
    const fault = this.#failing?.fault;
    if (!this.#answeredBusy) return storeError(this.#store, what, fault);
    return timeoutError(this.#store, this.#name, what, fault);
  }
}
