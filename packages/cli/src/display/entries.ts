import { counted } from "./counted.ts";
import type { Entry, HolderEntry, WaiterEntry } from "@holdfast/lock";

/** Returns a short name of a handle: its host and process, or the owner. */
export function handleName({ owner, meta }: Pick<Entry, "owner" | "meta">): string {
  const { host, pid } = meta ?? {};
  if (pid === undefined) return host ?? owner;
  return host === undefined ? `process ${pid}` : `${host}/${pid}`;
}

/** Returns the holders of a lock, the longest holder first. */
export function oldestFirst(held: readonly HolderEntry[]): HolderEntry[] {
  return [...held].sort((a, b) => (a.since ?? Infinity) - (b.since ?? Infinity) || 0);
}

/** Returns the kind of a lock in words: `exclusive`, `shared`, or how many may hold it. */
export function modeName({ mode, permits }: Pick<Entry, "mode" | "permits">): string {
  return permits === undefined ? mode : counted(permits, "permit");
}

/** Returns the state of a handle in words: its kind, and whether the holder's process hands the lock on to it. */
export function placeName(entry: Pick<Entry & Partial<WaiterEntry>, "mode" | "permits" | "member">): string {
  return modeName(entry) + (entry.member ? ", in the holder's run" : "");
}
