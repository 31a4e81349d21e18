import { backoffMs } from "./backoff.ts";
import { before, type Clock, elapsed, type Instant } from "./clock.ts";
import { isPermanent } from "./failure.ts";
import { RELEASE_LIMIT_MS, releaseWithRetry } from "./release.ts";
import { numbered, resized } from "./renewal.ts";
import type { Claim, Renewal, Store } from "../store.ts";

/** The part of a lease that may have passed when it is handed on without a renewal. */
const FRESH = 1 / 10;

/** The pauses after a give-back that failed, in milliseconds: the first one and the longest one. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;

/** A lease that the store may have: how long, and when it was asked for. */
interface Asked {
  readonly sentAt: Instant;
  readonly lease: number;
}

/**
 * One lease in a store that several handles of this process have in turn. The store knows only the first of them, whose
 * claim this is; the others renew and release under its id.
 */
export class ProcessLease {
  readonly #store: Store;
  readonly #clock: Clock;
  #claim: Claim;
  /** The last request that the store has granted. */
  #granted: Asked;
  /** The last renewal, until the store has answered it. Meanwhile the lease may be shorter than is known. */
  #asked: Asked | undefined;
  /** The renewals that the store has not answered; they are sent one by one. */
  #renewing: Promise<unknown> | undefined;
  #over = false;

  /**
   * Begins with the grant.
   *
   * @param store where the lock is held
   * @param claim what was granted
   * @param sentAt when the attempt was sent
   * @param clock the clock of the store
   * @param age how much of the lease had passed by then, in milliseconds
   */
  constructor(store: Store, claim: Claim, sentAt: Instant, clock: Clock, age = 0) {
    this.#store = store;
    this.#claim = claim;
    this.#granted = { sentAt: before(sentAt, age), lease: claim.lease };
    this.#clock = clock;
  }

  /** The claim as the store has it. */
  get claim(): Claim {
    return this.#claim;
  }

  /** Whether the store was found not to have the lock any more, or the lease was released or abandoned. */
  get over(): boolean {
    return this.#over;
  }

  /** When the lease began: when the last request was sent that the store has granted. */
  get sentAt(): Instant {
    return this.#granted.sentAt;
  }

  /** How much of the lease has passed, in milliseconds. */
  get age(): number {
    return elapsed(this.#granted.sentAt, this.#clock.now());
  }

  /** Returns whether the lease is over by the clock, whichever of the requests the store has executed. */
  hasEnded(now: Instant = this.#clock.now()): boolean {
    return this.endsIn(now) <= 0;
  }

  /** Returns how long it is until then, in milliseconds; not above 0 when it is over. */
  endsIn(now: Instant = this.#clock.now()): number {
    const left = ({ sentAt, lease }: Asked) => lease - elapsed(sentAt, now);
    return Math.max(left(this.#granted), this.#asked === undefined ? 0 : left(this.#asked));
  }

  /** Whether a handle that asks for a lease of this length can be handed the lock without asking the store. */
  isFresh(lease: number, now: Instant = this.#clock.now()): boolean {
    if (this.#over || this.#asked !== undefined || lease !== this.#claim.lease) return false;
    return elapsed(this.#granted.sentAt, now) <= lease * FRESH;
  }

  /**
   * Sets the lease to this length from now on. Rejects when it is not known how that ended: then the lease is not handed
   * on before another renewal was answered. One renewal at a time: a second one waits for the first.
   */
  renew(lease: number): Promise<Renewal> {
    const renewal = this.#renewing === undefined ? this.#renew(lease) : this.#renewing.then(() => this.#renew(lease));
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

  /** Notes that the store does not have the lock any more. */
  lose(): void {
    this.#over = true;
  }

  /** Gives the lock back. Resolves to whether the store still had it. */
  release(): Promise<boolean> {
    this.#over = true;
    // A renewal that overtook the release could acquire the lock again on a store that had forgotten it.
    if (this.#renewing !== undefined) return this.#renewing.then(() => this.#store.release(this.#claim));
    return this.#store.release(this.#claim);
  }

  /**
   * Gives the lock back on nobody's behalf, with retries while the store fails. Never rejects: what is left then ends
   * with its lease. Resolves to whether the store still had it.
   */
  async abandon(): Promise<boolean> {
    this.#over = true;
    await this.#renewing;
    return await releaseWithRetry(this.#store, this.#claim, this.#clock).catch(() => false);
  }

  /**
   * Gives the lock back in the background, with retries until the store has answered or the lease is over by the clock:
   * also those whose outcome was never known are undone. Never rejects. Notifies nobody: no handle is released.
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
      // Not for longer than any other release does it keep the process alive.
      if (elapsed(began, this.#clock.now()) < RELEASE_LIMIT_MS) await this.#clock.sleep(pauseMs);
      else await new Promise<void>((resolve) => this.#clock.timer(pauseMs, resolve));
    }
  }
}
