import { counted } from "./counted.ts";
import type { Entry, HolderEntry, WaiterEntry } from "../../store.ts";

/** Returns who a handle belongs to, in a few words: host and process, or the owner. */
export function handleName({ owner, meta }: Pick<Entry, "owner" | "meta">): string {
  const { host, pid } = meta ?? {};
  if (pid === undefined) return host ?? owner;
  return host === undefined ? `process ${pid}` : `${host}/${pid}`;
}

/** Returns the holders of a lock, the one that has had it for the longest time first. */
export function oldestFirst(held: readonly HolderEntry[]): HolderEntry[] {
  return [...held].sort((a, b) => (a.since ?? Infinity) - (b.since ?? Infinity) || 0);
}

/** Returns how a lock is held or wanted: `exclusive`, `shared`, or how many may hold it. */
export function modeName({ mode, permits }: Pick<Entry, "mode" | "permits">): string {
  return permits === undefined ? mode : counted(permits, "permit");
}

/** Returns how a handle holds a lock or waits for it: what `modeName` says, and whether the holder's process hands it on. */
export function placeName(entry: Pick<Entry & Partial<WaiterEntry>, "mode" | "permits" | "member">): string {
  return modeName(entry) + (entry.member ? ", in the holder's run" : "");
}
