import { ownerKey } from "../owner_key.ts";
import { type Claim, type Kind, kindOf } from "../../store.ts";

/** How a lock is held: as which kind, and by which owners. */
export interface Occupancy {
  /** The kind of all holders; exclusive when there is none, or when they differ. */
  kind: Kind;
  /** The keys of the owners, each once: the handles of one owner need one permit together. */
  readonly ownerKeys: Set<string>;
}

/** Returns how a lock with these holders is held. */
export function occupancyOf(holders: Iterable<{ readonly claim: Claim }>): Occupancy {
  const kinds = new Set<Kind>();
  const ownerKeys = new Set<string>();
  for (const { claim } of holders) {
    kinds.add(kindOf(claim));
    ownerKeys.add(ownerKey(claim));
  }
  const [kind = "exclusive"] = kinds;
  return { kind: kinds.size > 1 ? "exclusive" : kind, ownerKeys };
}

/** Returns whether another owner can hold the lock as well. */
export function fits({ kind, ownerKeys }: Occupancy, claim: Claim): boolean {
  if (ownerKeys.size === 0) return true;
  return kind !== "exclusive" && kind === kindOf(claim) && ownerKeys.size < permitsOf(kind);
}

/** Returns how many owners may hold a semaphore at once; `Infinity` for every other kind. */
export function permitsOf(kind: Kind): number {
  return typeof kind === "number" ? kind : Infinity;
}
