import type { Claim, Renewal } from "../../store.ts";

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
