import { type Claim, kindOf } from "../contract/store.ts";

/** How far the last fence of a block may be ahead of the store's clock, in microseconds. */
const AHEAD_US = 10_000n;

/** Returns how many fences to reserve: the wished number, or fewer if the last was too far ahead; at least one. */
export function blockLength(fence: bigint, wish: number, now: number): number {
  if (wish <= 1) return 1;
  const room = BigInt(Math.floor(now * 1000)) + AHEAD_US - fence + 1n;
  return Math.max(1, Math.min(wish, Number(room)));
}

/** How many fences are reserved for each millisecond of `keep`, and at most: the numbers that stores reserve. */
const FENCES_PER_MS = 1_000;
const MAX_FENCES = 10_000;

/**
 * Returns whether a claim is exclusive and its owner fresh: only such a claim gets several fences, or is part of a run.
 */
export function isPlain(claim: Claim): boolean {
  return kindOf(claim) === "exclusive" && claim.handle === undefined;
}

/** Returns the claim under which handles of the process may follow: with the group for a run, or with fences. */
export function withFollowers(claim: Claim, group: string, keep: number): Claim {
  if (!isPlain(claim)) return claim;
  if (keep === 0) return { ...claim, group };
  return { ...claim, fences: Math.min(Math.ceil(keep * FENCES_PER_MS), MAX_FENCES) };
}

/** Returns how many fences a claim wants for itself. */
export function wishedFences(claim: Claim): number {
  return isPlain(claim) ? claim.fences ?? 1 : 1;
}

/** Returns whether a claim may be granted together with waiters. A claim with a block of its own is not. */
export function takesRun(claim: Claim): boolean {
  return claim.group !== undefined && isPlain(claim) && wishedFences(claim) === 1;
}

/** Returns whether a waiter may be taken into the run of a claim that {@linkcode takesRun}. */
export function joinsRun(waiter: Claim, claim: Claim): boolean {
  return waiter.group === claim.group && isPlain(waiter);
}
