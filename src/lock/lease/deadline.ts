import { before, elapsed, type Instant } from "../../time/clock.ts";

/**
 * The moment from which a holder no longer trusts its lease. It counts from *before* the granted request was sent. The
 * store's lease began later, so that the holder's ends first.
 */
export class Deadline {
  #sentAt: Instant;
  #trustedMs: number;

  constructor(sentAt: Instant, trustedMs: number) {
    this.#sentAt = sentAt;
    this.#trustedMs = trustedMs;
  }

  /** Returns the milliseconds until the deadline; not above 0 once it has passed. */
  left(now: Instant): number {
    return this.#trustedMs - elapsed(this.#sentAt, now);
  }

  /** Moves the deadline, forward or back. */
  move(sentAt: Instant, trustedMs: number): void {
    this.#sentAt = sentAt;
    this.#trustedMs = trustedMs;
  }

  /** Moves the deadline back, because the lease had begun `ms` milliseconds before the request was sent. */
  age(ms: number): void {
    this.#sentAt = before(this.#sentAt, ms);
  }

  shorten(sentAt: Instant, trustedMs: number): void {
    if (trustedMs < this.left(sentAt)) this.move(sentAt, trustedMs);
  }
}
