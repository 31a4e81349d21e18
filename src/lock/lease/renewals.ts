import type { Claim, Store } from "../../contract/store.ts";
import { type Clock, monotonicMs, overdue, type Timer } from "../../time/clock.ts";
import { numbered, type RenewalOutcome, resized } from "../../contract/release.ts";
import type { LeaseTimes } from "./lease_times.ts";

/**
 * The renewals of one lease, one at a time. A granted renewal moves the deadline, counted from before it was sent. A
 * renewal with an unknown outcome neither moves the deadline nor ends the lease, and is retried.
 */
export class Renewals {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #times: LeaseTimes;
  #claim: Claim;
  #inFlight: Promise<RenewalOutcome> | undefined;
  #fault: unknown;
  /** Fires when the answer to the renewal in flight is late. */
  #limit: Timer | undefined;

  constructor(store: Store, claim: Claim, times: LeaseTimes, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#times = times;
    this.#claim = claim;
  }

  /** The claim, with the present length of the lease. */
  get claim(): Claim {
    return this.#claim;
  }

  get inFlight(): Promise<RenewalOutcome> | undefined {
    return this.#inFlight;
  }

  get fault(): unknown {
    return this.#fault;
  }

  /** Ends the watch for a late answer. */
  stop(): void {
    this.#limit?.cancel();
    this.#limit = undefined;
  }

  /** Changes the length of the lease with the next renewal. */
  resize(lease: number): void {
    this.#claim = resized(this.#claim, lease);
    this.#times.follow(lease);
  }

  /** Sends one renewal. Never rejects. `faulted` is called with an error of the store, also when its answer is late. */
  send(faulted: (error: unknown) => void): Promise<RenewalOutcome> {
    this.#claim = numbered(this.#claim);
    const trusted = trustedMs(this.#store, this.#claim);
    const sentAt = this.#clock.now();
    this.#times.sent(sentAt, trusted);
    const note = (error: unknown) => {
      this.#fault = error;
      faulted(error);
    };
    const late = () => {
      note(new Error(`the store has not answered for ${Math.round(monotonicMs(sentAt, this.#clock.now()))} ms`));
    };
    this.#limit = overdue(this.#times.answerLimitMs(sentAt), late, this.#clock, sentAt);
    return this.#inFlight = this.#answer(note).then((outcome) => {
      this.#inFlight = undefined;
      const now = this.#clock.now();
      // The answer may have come after the deadline: then it is too late, whatever it says.
      if (this.#times.left(now) > 0) {
        if (outcome === "unknown") this.#times.failed(now);
        if (outcome === "renewed") {
          this.#fault = undefined;
          this.#times.renewed(trusted);
        }
      }
      return outcome;
    });
  }

  /** Resolves to the answer of the store. Records its fault. */
  async #answer(note: (error: unknown) => void): Promise<RenewalOutcome> {
    try {
      return await this.#store.renew(this.#claim);
    } catch (error) {
      note(error);
      return "unknown";
    } finally {
      this.stop();
    }
  }
}

/** Returns how long a lease is trusted from the sending of its request, in milliseconds: clocks drift apart. */
export function trustedMs(store: Store, { lease }: Claim): number {
  return lease - store.drift(lease);
}
