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

/** The time of the next renewal of a lease: at its interval, or sooner after a failed renewal. */
export class RenewalSchedule {
  #interval: number;
  readonly #autoInterval: boolean;
  /** When the last request was sent: the attempt or a renewal. */
  #sentAt: Instant;
  /** The pause from then to the next renewal. */
  #pauseMs: number;
  #failures = 0;

  /** Creates the schedule after an attempt that was sent at `sentAt`, for a lease that is trusted for `trustedMs`. */
  constructor({ interval, autoInterval }: RenewalInterval, sentAt: Instant, trustedMs: number) {
    this.#interval = interval;
    this.#autoInterval = autoInterval;
    this.#sentAt = sentAt;
    this.#pauseMs = this.#intervalWithin(trustedMs);
  }

  get sentAt(): Instant {
    return this.#sentAt;
  }

  /** Returns the milliseconds until the next renewal; not above 0 when it is due. */
  dueIn(now: Instant): number {
    return this.#pauseMs - elapsed(this.#sentAt, now);
  }

  /** Returns how long to wait for the answer to a renewal, in milliseconds, before this counts as a fault. */
  answerLimitMs(left: number): number {
    return Math.min(Math.max(this.#interval, LEAST_ANSWER_LIMIT_MS), left / 2);
  }

  /** Throws a `RangeError` if the interval that the caller gave leaves no time to renew a lease of this length. */
  check(lease: number): void {
    if (!this.#autoInterval && this.#interval !== Infinity) checkInterval(this.#interval, lease);
  }

  /** Adapts the interval to another length of the lease, unless the caller gave it. */
  follow(lease: number): void {
    if (this.#autoInterval) this.#interval = defaultInterval(lease);
  }

  /** Brings the next renewal forward, because the lease had begun `ms` milliseconds before the request was sent. */
  age(ms: number): void {
    this.#sentAt = before(this.#sentAt, ms);
  }

  sent(at: Instant): void {
    this.#sentAt = at;
  }

  /** Records that the renewal was granted: the next renewal is due one interval after its sending. */
  renewed(trustedMs: number): void {
    this.#failures = 0;
    this.#pauseMs = this.#intervalWithin(trustedMs);
  }

  /**
   * Records that the outcome of the renewal is unknown: it is retried, soon but not too often, while the lease lasts.
   */
  failed(now: Instant, left: number): void {
    this.#failures++;
    if (this.#interval === Infinity) return;
    const pause = backoffMs(this.#failures - 1, this.#interval * FIRST_RETRY, this.#interval);
    this.#pauseMs = elapsed(this.#sentAt, now) + Math.max(1, Math.min(pause, left * LAST_RETRIES));
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
