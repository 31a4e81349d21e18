import type { Entry, HolderEntry, WaiterEntry } from "../../store.ts";

/** Returns the holder that has had a lock for the longest time. */
export function oldestOf(held: readonly HolderEntry[]): HolderEntry | undefined {
  return [...held].sort((a, b) => (a.since ?? Infinity) - (b.since ?? Infinity) || 0)[0];
}

/** Returns how a lock is held or wanted: `exclusive`, `shared`, or how many may hold it. */
export function modeName({ mode, permits }: Pick<Entry, "mode" | "permits">): string {
  return permits === undefined ? mode : `${permits} permit${permits === 1 ? "" : "s"}`;
}

/** Returns how a handle holds a lock or waits for it: what `modeName` says, and whether the holder's process hands it on. */
export function placeName(entry: Entry & Partial<Pick<WaiterEntry, "member">>): string {
  return modeName(entry) + (entry.member ? ", in the holder's run" : "");
}
