import type { Kind } from "../../src/contract/store.ts";

/** Who holds a lock: exclusively, unless `kind` is another one. The handles of an owner that was given are together. */
export interface Holder {
  readonly kind?: Kind;
  readonly owner?: string | undefined;
}

/** The fences of a grant: one, or all up to the `last` one. */
export interface Fences {
  readonly fence: bigint | number;
  readonly last?: bigint | number;
}

/** Returns whether two may hold a lock together, if there are permits for both. */
export function mayShare({ kind = "exclusive", owner }: Holder, other: Holder): boolean {
  return owner !== undefined && owner === other.owner || kind !== "exclusive" && kind === other.kind;
}

/** Returns those of the others that must not hold a lock beside a holder: all of them, if there are too few permits. */
export function excluded<T extends Holder>(holder: Holder, others: readonly T[]): T[] {
  const { kind = "exclusive" } = holder;
  const owners = new Set([holder, ...others].map((each) => each.owner ?? each));
  return others.filter((other) => owners.size > Number(kind) || !mayShare(holder, other));
}

/**
 * Returns whether a lock that was granted at `start` is held at a moment: `until` its deadline, or its release before.
 */
export function holds({ start = -Infinity, until }: { readonly start?: number; readonly until: number }, at: number) {
  return start <= at && at < until;
}

/** Returns how fences follow those of an earlier grant: they must rise. */
export function fenceOrder({ fence, last = fence }: Fences, next: Fences): "rises" | "repeats" | "falls" {
  return next.fence > last ? "rises" : (next.last ?? next.fence) < fence ? "falls" : "repeats";
}
