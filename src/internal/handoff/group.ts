import { type Claim, kindOf } from "../../store.ts";

/** Returns whether a claim is exclusive and its owner fresh: only such a claim gets several fences, or is part of a run. */
export function isPlain(claim: Claim): boolean {
  return kindOf(claim) === "exclusive" && claim.handle === undefined;
}

/** Returns how many fences a claim wishes for itself. */
export function wishedFences(claim: Claim): number {
  return isPlain(claim) ? claim.fences ?? 1 : 1;
}

/** Returns whether a claim may be granted together with waiters. One that gets a block of its own is not. */
export function takesRun(claim: Claim): boolean {
  return claim.group !== undefined && isPlain(claim) && wishedFences(claim) === 1;
}

/** Returns whether a waiter may be taken into the run of a claim that {@linkcode takesRun}. */
export function joinsRun(waiter: Claim, claim: Claim): boolean {
  return waiter.group === claim.group && isPlain(waiter);
}
