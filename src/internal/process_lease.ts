import { before, type Clock, elapsed, type Instant } from "./clock.ts";
import { releaseWithRetry } from "./release.ts";
import { numbered, resized } from "./renewal.ts";
import type { Claim, Renewal, Store } from "../store.ts";

/** The part of a lease that may have passed when it is handed on without a renewal. */
const FRESH = 1 / 10;

/**
 * One lease in a store that several handles of this process have in turn. The store knows only the first of them, whose
 * claim this is; the others renew and release under its id.
 */
export class ProcessLease {
  readonly #store: Store;
  readonly #clock: Clock;
  #claim: Claim;
  /** When the last request was sent that the store has granted. */
  #sentAt: Instant;
  /** Whether the store has answered the last renewal. Until it does, the lease may be shorter than is known. */
  #known = true;
  #renewing: Promise<unknown> = Promise.resolve();
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
    this.#sentAt = before(sentAt, age);
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

  /** How much of the lease has passed, in milliseconds. */
  get age(): number {
    return elapsed(this.#sentAt, this.#clock.now());
  }

  /** Whether a handle that asks for a lease of this length can be handed the lock without asking the store. */
  isFresh(lease: number): boolean {
    return !this.#over && this.#known && lease === this.#claim.lease && this.age <= lease * FRESH;
  }

  /**
   * Sets the lease to this length from now on. Rejects when it is not known how that ended: then the lease is not handed
   * on before another renewal was answered. One renewal at a time: a second one waits for the first.
   */
  renew(lease: number): Promise<Renewal> {
    const renewal = this.#renewing.then(() => this.#renew(lease));
    this.#renewing = renewal.catch(() => {});
    return renewal;
  }

  async #renew(lease: number): Promise<Renewal> {
    if (this.#over) return "lost";
    this.#claim = numbered(resized(this.#claim, lease));
    this.#known = false;
    const sentAt = this.#clock.now();
    const renewal = await this.#store.renew(this.#claim);
    if (renewal === "lost") {
      this.#over = true;
      return renewal;
    }
    this.#known = true;
    this.#sentAt = sentAt;
    return renewal;
  }

  /** Gives the lock back. Resolves to whether the store still had it. */
  async release(): Promise<boolean> {
    this.#over = true;
    await this.#renewing;
    return await this.#store.release(this.#claim);
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
}
