import { type Claim, type Entry, handleOf } from "../../store.ts";
import { readMeta } from "../process/meta.ts";

/** Returns the entry under which {@linkcode Store.query} lists the handle of a claim. */
export function entryOf(claim: Claim): Entry {
  const { name, owner, mode, permits } = claim;
  return { name, owner, handle: handleOf(claim), mode, permits, meta: readMeta(claim.meta) };
}
