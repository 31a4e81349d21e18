import type { Claim } from "../store.ts";

/**
 * Returns the key under which stores write down the owner of a lock. It is the caller's `owner` with a slash, for all of
 * its handles, or the id of a handle without `owner`, which has no slash. So an `owner` that equals the id of a handle
 * does not re-enter the lock of that handle.
 */
export function ownerKey({ owner, handle }: Claim): string {
  return handle === undefined ? owner : `${owner}/`;
}

/** Returns the owner of an owner key. */
export function ownerOfKey(key: string): string {
  return key.endsWith("/") ? key.slice(0, -1) : key;
}
