import type { Claim, Store } from "../../contract/store.ts";
import { type Clock, type Instant, monotonicMs, overdue, type Timer } from "../../time/clock.ts";
import type { Deadline } from "./deadline.ts";
import { numbered, type RenewalOutcome, resized } from "../../contract/release.ts";
import type { RenewalSchedule } from "./renewal_schedule.ts";

export interface RenewalContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly deadline: Deadline;
  readonly schedule: RenewalSchedule;
}

/**
 * The renewals of one lease. A granted renewal moves the deadline, counted from before it was sent. A renewal with an
 * unknown outcome neither moves the deadline nor ends the lease, and is retried.
 */
export class Renewals {
  readonly #context: RenewalContext;
  #claim: Claim;
  #inFlight: Promise<RenewalOutcome> | undefined;
  #fault: unknown;
  /** Fires when the answer to the renewal in flight is late. */
  #limit: Timer | undefined;

  constructor(context: RenewalContext, claim: Claim) {
    this.#context = context;
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
    this.#context.schedule.follow(lease);
  }

  /** Sends one renewal. Never rejects. `faulted` is called with an error of the store, also when its answer is late. */
  send(faulted: (error: unknown) => void): Promise<RenewalOutcome> {
    const { store, clock, deadline, schedule } = this.#context;
    const sentAt = clock.now();
    this.#claim = numbered(this.#claim);
    const trusted = trustedMs(store, this.#claim);
    // A shorter lease counts from now, whatever the answer: the store may have taken it and the reply got lost.
    deadline.shorten(sentAt, trusted);
    schedule.sent(sentAt);
    const note = (error: unknown) => {
      this.#fault = error;
      faulted(error);
    };
    this.#inFlight = this.#answer(sentAt, schedule.answerLimitMs(deadline.left(sentAt)), note).then((outcome) => {
      this.#inFlight = undefined;
      const now = clock.now();
      // The answer may have come after the deadline: then it is too late, whatever it says.
      if (deadline.left(now) > 0) {
        if (outcome === "unknown") schedule.failed(now, deadline.left(now));
        if (outcome === "renewed") {
          this.#fault = undefined;
          deadline.move(sentAt, trusted);
          schedule.renewed(trusted);
        }
      }
      return outcome;
    });
    return this.#inFlight;
  }

  /** Resolves to the answer of the store. Records its faults, also a late answer. */
  async #answer(sentAt: Instant, limitMs: number, note: (error: unknown) => void): Promise<RenewalOutcome> {
    const { store, clock } = this.#context;
    const late = () => {
      note(new Error(`the store has not answered for ${Math.round(monotonicMs(sentAt, clock.now()))} ms`));
    };
    this.#limit = overdue(limitMs, late, clock, sentAt);
    try {
      return await store.renew(this.#claim);
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
