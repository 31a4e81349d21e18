import type { Claim } from "./store.ts";

/**
 * Who holds a lock, as stores write it down: an owner that was named, with all of its handles, and a slash, or a handle
 * for itself, whose id has none. Thus an owner that is called as a handle is does not enter that handle's lock.
 */
export function partyOf({ owner, hold }: Claim): string {
  return hold === undefined ? owner : `${owner}/`;
}

/** The owner of a party. */
export function ownerOf(party: string): string {
  return party.endsWith("/") ? party.slice(0, -1) : party;
}
