import { type Clock, elapsed, type Instant } from "../time/clock.ts";
import { overdue } from "../time/overdue.ts";
import type { Claim, Renewal, Store } from "../../store.ts";

/** How a renewal ended, as the holder sees it: `unknown` after an error or a time-out. */
export type RenewalOutcome = Renewal | "unknown";

/**
 * Returns the claim with a lease of another length. From then on its renewals are numbered: one of another length, sent
 * twice, may reach the store after a later one. Renewals of one length need no number: whichever comes last, the lease
 * ends no earlier than the holder believes.
 */
export function resized(claim: Claim, lease: number): Claim {
  const { renewal = lease === claim.lease ? undefined : 0 } = claim;
  return { ...claim, lease, renewal };
}

/** Returns the claim with the number of its next renewal, if its renewals are numbered. */
export function numbered(claim: Claim): Claim {
  return claim.renewal === undefined ? claim : { ...claim, renewal: claim.renewal + 1 };
}

/** How long to wait for the answer to a renewal. */
interface AnswerLimit {
  readonly clock: Clock;
  /** When the renewal is sent. */
  readonly sentAt: Instant;
  /** After how many milliseconds a missing answer counts as a fault. */
  readonly limitMs: number;
  /** Ends the watch for a late answer. */
  readonly signal: AbortSignal;
}

/** Sends one renewal. Never rejects: its faults are passed to `note`, also that the answer is late. */
export async function sendRenewal(
  store: Store,
  claim: Claim,
  { clock, sentAt, limitMs, signal }: AnswerLimit,
  note: (fault: unknown) => void,
): Promise<RenewalOutcome> {
  const late = () => {
    note(new Error(`the store has not answered for ${Math.round(elapsed(sentAt, clock.now()))} ms`));
  };
  const timer = overdue(limitMs, late, clock, sentAt);
  const cancel = () => timer.cancel();
  signal.addEventListener("abort", cancel);
  try {
    return await store.renew(claim);
  } catch (error) {
    note(error);
    return "unknown";
  } finally {
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}
