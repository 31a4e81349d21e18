import type { Attempt, AttemptOptions, Capability, Claim, Meta, Observer, Renewal, Store } from "@holdfast/lock";
import { isPermanent, show, storeError } from "@holdfast/lock/authors";
import { aborted } from "./aborted.ts";
import { type Clock, SystemClock } from "./clock.ts";
import { timeoutError } from "./failure.ts";
import { isSignal } from "./validation.ts";

/**
 * How often, and for how long, a call repeats its attempts. The call waits up to 10 s for the answer of each, like
 * `acquire`.
 */
export interface AttemptLimits {
  /** The largest number of attempts, at least 1, or `Infinity`. */
  readonly attempts: number;
  /** The time from a refusal to the next attempt, in milliseconds. Attempts after a wake-up do not count. */
  readonly pause: number;
  /** The time from the call in which attempts may be sent, in milliseconds, or `Infinity`. */
  readonly time: number;
  /** Called with each fault, which then counts as a refusal. Without it faults are retried as in `acquire`. */
  readonly onFault?: ((fault: unknown) => void) | undefined;
}

/** Why an attempt was refused: the fault, or `"busy"`. */
export type Refusal = "busy" | { readonly fault: unknown };

/**
 * The shortest pause after a fault, in milliseconds: otherwise a client that fails at once would be asked in a tight
 * loop.
 */
const FAULT_PAUSE_MS = 20;

/** The reason of the signal when no attempt is left. */
const OVER = Symbol("over");

/**
 * A store for one call of `acquire` or `acquireAll`, which ends when its attempts are used up. The option `wait` cannot
 * replace it: `wait` counts the time of unanswered attempts, and the other libraries do not.
 */
export class LimitedStore implements Store {
  /** No options that the other libraries lack: messages must not advise them. */
  readonly capabilities: readonly Capability[] = ["permits"];
  /** The refusals of the attempts that count; only the last one if their number is unlimited. */
  readonly refusals: Refusal[] = [];
  readonly #target: Store;
  readonly #limits: AttemptLimits;
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #ended = new AbortController();
  /** How many attempts count so far. */
  #made = 0;
  /** When the next attempt counts; `Infinity` while a counted attempt has no answer. */
  #dueAt = -Infinity;
  /** The last refusal. */
  #refused: { readonly name: string; readonly fault: unknown } | undefined;
  #wasBusy = false;

  /** Creates the store. The time of the call begins. */
  constructor(target: Store, limits: AttemptLimits, clock: Clock = new SystemClock()) {
    this.#target = target;
    this.#limits = limits;
    this.#clock = clock;
    this.#startedAt = this.#now();
  }

  /** Whether the attempts are used up. */
  get over(): boolean {
    return this.#ended.signal.reason === OVER;
  }

  get closed(): boolean {
    return this.#target.closed ?? false;
  }

  get connectionError(): Error | undefined {
    return this.#target.connectionError;
  }

  get observer(): Observer | undefined {
    return this.#target.observer;
  }

  /**
   * Runs a call that acquires from this store without a limit of its own, until its signal aborts.
   *
   * @throws {LockTimeoutError} when no attempt is left, and one was answered
   * @throws {StoreError} when no attempt is left, and each of them has failed
   * @throws the reason of `signal`, when that aborts before
   */
  async run<T>(signal: AbortSignal | undefined, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (signal !== undefined && !isSignal(signal)) {
      throw new TypeError(`signal must be an AbortSignal: got ${show(signal)}`);
    }
    signal?.throwIfAborted();
    const abort = () => this.#ended.abort(signal!.reason);
    signal?.addEventListener("abort", abort);
    try {
      return await call(this.#ended.signal);
    } catch (error) {
      throw error === OVER ? this.#failure() : error;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const { attempts, onFault } = this.#limits;
    if (this.#now() >= this.#dueAt) {
      this.#made++;
      this.#dueAt = Infinity;
    }
    let attempt: Attempt;
    try {
      attempt = await this.#target.attempt(claim, { ...options, enqueue: options.enqueue && attempts > 1 });
    } catch (fault) {
      if (isPermanent(fault) || this.closed) throw fault;
      const nextIn = this.#refuse(claim, { fault });
      if (onFault === undefined) throw fault;
      onFault(fault);
      return { granted: false, retryAfter: Math.max(FAULT_PAUSE_MS, nextIn) };
    }
    if (attempt.granted || "conflict" in attempt) return attempt;
    return { granted: false, retryAfter: Math.max(0, Math.min(attempt.retryAfter, this.#refuse(claim, "busy"))) };
  }

  renew(claim: Claim): Promise<Renewal> {
    return this.#target.renew(claim);
  }

  release(claim: Claim): Promise<boolean> {
    return this.#target.release(claim);
  }

  async wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    // After a fault a wake-up may come of each connection that is made and lost again.
    const woken = this.#refused?.fault === undefined ? this.#target.wakeup?.(claim, signal) : undefined;
    await (woken ?? aborted(signal));
  }

  async revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> {
    return await (this.#target.revocation?.(claim, signal) ?? aborted(signal));
  }

  readonly drift = (lease: number): number => this.#target.drift(lease);

  /**
   * Records a refusal, and ends the call if no attempt is left. Returns the milliseconds until the next attempt is due.
   */
  #refuse({ name }: Claim, refusal: Refusal): number {
    const { attempts, pause, time } = this.#limits;
    const now = this.#now();
    const left = this.#startedAt + time - now;
    if (this.#dueAt === Infinity) {
      this.#dueAt = now + pause;
      if (attempts === Infinity) this.refusals.length = 0;
      this.refusals.push(refusal);
    }
    this.#refused = { name, fault: refusal === "busy" ? undefined : refusal.fault };
    this.#wasBusy ||= refusal === "busy";
    if (this.#made >= attempts || left <= 0) this.#ended.abort(OVER);
    // Any number of attempts: the queue says when to make them.
    return Math.min(left, attempts === Infinity && refusal === "busy" ? Infinity : this.#dueAt - now);
  }

  #failure(): Error {
    const { name, fault } = this.#refused!;
    const { attempts, time } = this.#limits;
    const limit = this.#made < attempts
      ? `within ${time} ms`
      : `in ${this.#made} attempt${this.#made === 1 ? "" : "s"}`;
    const what = `Cannot acquire lock "${name}" ${limit}`;
    return this.#wasBusy ? timeoutError(this, what, fault) : storeError(this, what, fault);
  }

  #now(): number {
    return this.#clock.now().monotonic;
  }
}
