import { backoffMs, before, elapsed, type Instant } from "../../time/clock.ts";

/** The least time for the answer to a renewal, in milliseconds, if the lease lasts that long. */
const LEAST_ANSWER_LIMIT_MS = 1_000;

/** The first pause after a failed renewal, as a part of the interval; the pause doubles up to one interval. */
const FIRST_RETRY = 1 / 8;

/** The longest such pause, as a part of the rest of the lease, so that there is time for another retry. */
const LAST_RETRIES = 1 / 2;

export interface RenewalInterval {
  /** Milliseconds between renewals; `Infinity` when the lease is not renewed. */
  readonly interval: number;
  /** Whether the interval follows the lease when `extend` changes the lease. */
  readonly autoInterval: boolean;
}

/**
 * The times of one lease: the deadline, from which its holder no longer trusts it, and the next renewal, at the
 * interval, or sooner after a failure. Both count from *before* a request was sent. The store's lease began later, so
 * that the holder's ends first.
 */
export class LeaseTimes {
  #interval: number;
  readonly #autoInterval: boolean;
  /** When the granted request was sent, and for how long the lease is trusted from then on. */
  #grantedAt: Instant;
  #trustedMs: number;
  /** When the last request was sent, and the pause from then to the next renewal. */
  #sentAt: Instant;
  #pauseMs: number;
  #failures = 0;

  /** Creates the times after an attempt that was sent at `sentAt`, for a lease that is trusted for `trustedMs`. */
  constructor({ interval, autoInterval }: RenewalInterval, sentAt: Instant, trustedMs: number) {
    this.#interval = interval;
    this.#autoInterval = autoInterval;
    this.#grantedAt = this.#sentAt = sentAt;
    this.#trustedMs = trustedMs;
    this.#pauseMs = this.#intervalWithin(trustedMs);
  }

  /** Returns the milliseconds until the deadline; not above 0 once it has passed. */
  left(now: Instant): number {
    return this.#trustedMs - elapsed(this.#grantedAt, now);
  }

  /** Returns the milliseconds until the next renewal; not above 0 when it is due. */
  dueIn(now: Instant): number {
    return this.#pauseMs - elapsed(this.#sentAt, now);
  }

  /** Returns how long to wait for the answer to a renewal, in milliseconds, before this counts as a fault. */
  answerLimitMs(now: Instant): number {
    return Math.min(Math.max(this.#interval, LEAST_ANSWER_LIMIT_MS), this.left(now) / 2);
  }

  /** Throws a `RangeError` if the interval that the caller gave leaves no time to renew a lease of this length. */
  check(lease: number): void {
    if (!this.#autoInterval && this.#interval !== Infinity) checkInterval(this.#interval, lease);
  }

  /** Adapts the interval to another length of the lease, unless the caller gave it. */
  follow(lease: number): void {
    if (this.#autoInterval) this.#interval = defaultInterval(lease);
  }

  /** Brings both forward, because the lease had begun `ms` milliseconds before the request was sent. */
  age(ms: number): void {
    this.#grantedAt = this.#sentAt = before(this.#sentAt, ms);
  }

  /**
   * Records that a renewal is sent. A shorter lease counts from now, whatever the answer: the store may have taken it
   * and the reply got lost.
   */
  sent(at: Instant, trustedMs: number): void {
    this.#sentAt = at;
    if (trustedMs < this.left(at)) this.#trust(trustedMs);
  }

  /** Records that the renewal was granted: the deadline moves, and the next renewal is due one interval after this. */
  renewed(trustedMs: number): void {
    this.#failures = 0;
    this.#pauseMs = this.#intervalWithin(trustedMs);
    this.#trust(trustedMs);
  }

  /**
   * Records that the outcome of the renewal is unknown: it is retried, soon but not too often, while the lease lasts.
   */
  failed(now: Instant): void {
    this.#failures++;
    if (this.#interval === Infinity) return;
    const pause = backoffMs(this.#failures - 1, this.#interval * FIRST_RETRY, this.#interval);
    this.#pauseMs = elapsed(this.#sentAt, now) + Math.max(1, Math.min(pause, this.left(now) * LAST_RETRIES));
  }

  /** Moves the deadline, forward or back: it counts from the last request. */
  #trust(ms: number): void {
    this.#grantedAt = this.#sentAt;
    this.#trustedMs = ms;
  }

  /** Returns the interval, or half the trusted time if the interval is as long as that time or longer. */
  #intervalWithin(trustedMs: number): number {
    return this.#interval < trustedMs || this.#interval === Infinity ? this.#interval : trustedMs / 2;
  }
}

/** Returns the interval for `renew: true`: two renewals may fail before the lease is in danger. */
export function defaultInterval(lease: number): number {
  return lease / 3;
}

/** Throws a `RangeError` if an interval leaves no time to renew within the lease. */
export function checkInterval(interval: number, lease: number): void {
  if (interval >= lease) {
    throw new RangeError(`renew must be less than the lease of ${lease} ms: got ${interval}`);
  }
}
