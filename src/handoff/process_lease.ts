import { backoffMs, before, type Clock, elapsed, type Instant, monotonicMs } from "../time/clock.ts";
import { isPermanent } from "../internal/failure.ts";
import { numbered, RELEASE_LIMIT_MS, resized } from "../contract/release.ts";
import type { Claim, Renewal, Store } from "../contract/store.ts";

/** The part of a lease that may have passed when it is handed on without a renewal. */
const FRESH = 1 / 10;

/** The pauses after a failed release, in milliseconds: the first and the longest. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;

/** A requested lease: its length, and when the request was sent. */
interface Asked {
  readonly sentAt: Instant;
  readonly lease: number;
}

/**
 * One lease in a store under which several handles of this process hold the lock in turn. The store knows only the
 * claim that was granted; the handles renew and release under its id.
 */
export class ProcessLease {
  readonly #store: Store;
  readonly #clock: Clock;
  #claim: Claim;
  #granted: Asked;
  /** The last renewal, until the store has answered it. Meanwhile the lease may be shorter than known. */
  #asked: Asked | undefined;
  /** Settles with the unanswered renewals, which are sent one after the other. */
  #renewing: Promise<unknown> | undefined;
  #over = false;

  /**
   * Creates the lease of a grant.
   *
   * @param age how much of the lease had passed when the attempt was sent, in milliseconds
   */
  constructor(store: Store, claim: Claim, sentAt: Instant, clock: Clock, age = 0) {
    this.#store = store;
    this.#claim = claim;
    this.#granted = { sentAt: before(sentAt, age), lease: claim.lease };
    this.#clock = clock;
  }

  get claim(): Claim {
    return this.#claim;
  }

  /** Whether the lease is lost or was released. */
  get over(): boolean {
    return this.#over;
  }

  /** Settles when the store has answered the last renewal; `undefined` if it has. A release is sent afterwards. */
  get renewing(): Promise<unknown> | undefined {
    return this.#renewing;
  }

  /** Returns how much of the lease had passed at a moment, in milliseconds; 0 if it was renewed since. */
  ageAt(moment: Instant): number {
    return Math.max(0, elapsed(this.#granted.sentAt, moment));
  }

  /** Returns whether the lease has ended by the clock, whichever unanswered requests the store has executed. */
  hasEnded(now: Instant = this.#clock.now()): boolean {
    return this.endsIn(now) <= 0;
  }

  /** Returns the milliseconds until that end; not above 0 when the lease is over. */
  endsIn(now: Instant = this.#clock.now()): number {
    const left = ({ sentAt, lease }: Asked) => lease - elapsed(sentAt, now);
    return Math.max(left(this.#granted), this.#asked === undefined ? 0 : left(this.#asked));
  }

  /** Returns for how long holders trust the lease, in milliseconds: the store has it longer, for the local waiters. */
  trustedFor(now: Instant): number {
    return this.endsIn(now) - this.#store.drift(this.#claim.lease);
  }

  /** Returns whether a handle that wants a lease of this length can be handed the lock without a renewal. */
  isFresh(lease: number, now: Instant = this.#clock.now()): boolean {
    if (this.#over || this.#asked !== undefined || lease !== this.#claim.lease) return false;
    return elapsed(this.#granted.sentAt, now) <= lease * FRESH;
  }

  /**
   * Sets the lease to this length from now. Rejects when the outcome is unknown: then {@linkcode isFresh} is false
   * until another renewal was answered. Sends one renewal at a time: a second renewal waits for the first.
   */
  renew(lease: number): Promise<Renewal> {
    const renewal = this.#renewing === undefined ? this.#renew(lease) : this.#renewing.then(() => this.#renew(lease));
    // The caller of `renew()` has the error.
    const settled: Promise<unknown> = renewal.catch(() => {}).then(() => {
      if (this.#renewing === settled) this.#renewing = undefined;
    });
    this.#renewing = settled;
    return renewal;
  }

  async #renew(lease: number): Promise<Renewal> {
    if (this.#over) return "lost";
    this.#claim = numbered(resized(this.#claim, lease));
    const asked = this.#asked = { sentAt: this.#clock.now(), lease };
    const renewal = await this.#store.renew(this.#claim);
    if (renewal === "lost") {
      this.#over = true;
      return renewal;
    }
    this.#granted = asked;
    this.#asked = undefined;
    return renewal;
  }

  /** Releases the lock. Resolves to whether the store still had it. */
  release(): Promise<boolean> {
    this.#over = true;
    // On a store that has lost the lock, a renewal that is executed after the release could restore it.
    if (this.#renewing !== undefined) return this.#renewing.then(() => this.#store.release(this.#claim));
    return this.#store.release(this.#claim);
  }

  /**
   * Releases the lock in the background, with retries until the store has answered or the lease has ended by the clock.
   * Also undoes requests whose outcome is unknown. Never rejects, and emits no event, because no handle is released.
   */
  async undo(): Promise<void> {
    const began = this.#clock.now();
    for (let retries = 0;; retries++) {
      try {
        await this.release();
        return;
      } catch (error) {
        if (this.#store.closed || isPermanent(error) || this.hasEnded()) return;
      }
      const pauseMs = backoffMs(retries, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
      // Keeps the process alive for as long as every other release, and no longer.
      if (monotonicMs(began, this.#clock.now()) < RELEASE_LIMIT_MS) await this.#clock.sleep(pauseMs);
      else await new Promise<void>((resolve) => this.#clock.timer(pauseMs, resolve));
    }
  }
}
