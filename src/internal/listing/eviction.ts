import { checkMeta } from "../process/meta.ts";
import { checkKeys, show } from "../validation.ts";
import type { EvictOptions, HolderEntry } from "../../contract/store.ts";

/** The holders that are to lose a lock. */
export type Meant = Pick<EvictOptions, "handle" | "fence">;

/** The checked arguments of `evict()`. */
export interface EvictTarget extends Meant {
  /** The JSON text of the caller's description, as in a claim. */
  readonly meta: string | undefined;
}

export function checkEvict(options: EvictOptions = {}): EvictTarget {
  const { handle, fence, meta } = checkKeys(options, ["handle", "fence", "meta"]);
  if (handle !== undefined && typeof handle !== "string") {
    throw new TypeError(`handle must be a string: got ${show(handle)}`);
  }
  if (fence !== undefined && typeof fence !== "bigint") {
    throw new TypeError(`fence must be a bigint: got ${show(fence)}`);
  }
  return { handle, fence, meta: checkMeta(meta) };
}

/** Returns whether a holder is one of the holders that are to lose the lock. */
export function isMeant(target: Meant, { handle, fence }: Pick<HolderEntry, "handle" | "fence">): boolean {
  return (target.handle ?? handle) === handle && (target.fence === undefined || target.fence === fence);
}
