import { type Claim, type Kind, kindOf } from "../contract/store.ts";

/**
 * Returns the key by which stores record the owner of a lock: the caller's `owner` with a slash, for all its handles,
 * or the id of a handle without `owner`, which has no slash. So an `owner` that equals the id of a handle does not
 * re-enter the lock of that handle.
 */
export function ownerKey({ owner, handle }: Claim): string {
  return handle === undefined ? owner : `${owner}/`;
}

export function ownerOfKey(key: string): string {
  return key.endsWith("/") ? key.slice(0, -1) : key;
}

/** The kind as which a lock is held, and the owners that hold it. */
export interface Occupancy {
  /** The kind of all holders; exclusive when there is none, or when they differ. */
  kind: Kind;
  /** The keys of the owners, each once: the handles of one owner share one permit. */
  readonly ownerKeys: Set<string>;
}

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
