import type { Clock } from "../../src/time/clock.ts";
import { StoreError } from "../../src/contract/errors.ts";
import type { LockEvent, Observer } from "../../src/contract/events.ts";
import {
  type Attempt,
  type AttemptOptions,
  type Claim,
  drift,
  type Renewal,
  type Store,
} from "../../src/contract/store.ts";

/** A call that a {@linkcode ScriptedStore} was asked. */
export interface Call {
  readonly operation: "attempt" | "renew" | "release";
  readonly claim: Claim;
  /** When, in milliseconds since the store was made. */
  readonly at: number;
}

/** A store that answers what a test says, and records its calls and the events of its observer. */
export class ScriptedStore implements Store {
  readonly calls: Call[] = [];
  readonly events: LockEvent[] = [];
  readonly drift = drift;
  closed = false;
  connectionError: Error | undefined;
  observer: Observer = (event) => this.events.push({ ...event });
  onAttempt: (claim: Claim, options: AttemptOptions) => Attempt | Promise<Attempt> = () => granted(1n);
  onRenew: (claim: Claim) => Renewal | Promise<Renewal> = () => "renewed";
  onRelease: (claim: Claim) => boolean | Promise<boolean> = () => true;
  wakeup?: (claim: Claim, signal: AbortSignal) => Promise<void>;
  readonly #clock: Clock;
  readonly #began: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#began = clock.now().monotonic;
  }

  async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    this.#note("attempt", claim);
    return await this.onAttempt(claim, options);
  }

  async renew(claim: Claim): Promise<Renewal> {
    this.#note("renew", claim);
    return await this.onRenew(claim);
  }

  async release(claim: Claim): Promise<boolean> {
    this.#note("release", claim);
    return await this.onRelease(claim);
  }

  /** Returns when an operation was asked for, in milliseconds since the store was made. */
  times(operation: Call["operation"]): number[] {
    return this.calls.filter((call) => call.operation === operation).map((call) => call.at);
  }

  /** The types of the events that the observer was notified of, in order. */
  get eventTypes(): string[] {
    return this.events.map((event) => event.type);
  }

  #note(operation: Call["operation"], claim: Claim): void {
    this.calls.push({ operation, claim, at: this.#clock.now().monotonic - this.#began });
  }
}

/** Returns the answer to an attempt that gets the lock. */
export function granted(fence: bigint): Attempt {
  return { granted: true, fence };
}

/** Returns the answer to an attempt that finds the lock held. */
export function busy(retryAfter: number): Attempt {
  return { granted: false, retryAfter };
}

/** Returns how a call ends when the store cannot be reached. */
export function unreachable(): Promise<never> {
  return Promise.reject(new Error("connection refused"));
}

/** Returns how a call ends that the store refuses, and always will. */
export function refused(): Promise<never> {
  return Promise.reject(new StoreError("NOPERM", { cause: new Error("no rights"), permanent: true }));
}

/** Returns how a call goes on when the store is frozen. */
export function hanging(): Promise<never> {
  return new Promise(() => {});
}

/** Answers in this order; the last answer stays. */
export function inTurn<T>(...answers: (() => T | Promise<T>)[]): () => T | Promise<T> {
  let next = 0;
  return () => answers[Math.min(next++, answers.length - 1)]!();
}
