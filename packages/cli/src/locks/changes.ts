import type { HolderEntry, WaiterEntry } from "@holdfast/lock";
import type { ListedLock } from "./listing.ts";

/** A change of a handle between two listings. */
export interface Change {
  /**
   * `holds` and `waits`: it began to. `ended`: it no longer holds the lock. `left`: it left the queue without the lock.
   */
  readonly change: "holds" | "ended" | "waits" | "left";
  /** The handle, as it was last listed. */
  readonly entry: HolderEntry | WaiterEntry;
}

/** Returns the changes: first what ended, then what began. */
export function changesBetween(before: readonly ListedLock[], after: readonly ListedLock[]): Change[] {
  const heldBefore = byHandle(before.flatMap(({ held }) => held));
  const heldAfter = byHandle(after.flatMap(({ held }) => held));
  const pendingBefore = byHandle(before.flatMap(({ pending }) => pending));
  const pendingAfter = byHandle(after.flatMap(({ pending }) => pending));
  return [
    ...missing(heldBefore, heldAfter).map((entry): Change => ({ change: "ended", entry })),
    ...missing(pendingBefore, pendingAfter, heldAfter).map((entry): Change => ({ change: "left", entry })),
    ...missing(heldAfter, heldBefore).map((entry): Change => ({ change: "holds", entry })),
    ...missing(pendingAfter, pendingBefore).map((entry): Change => ({ change: "waits", entry })),
  ];
}

/** Returns the handles that are not among `others`. */
function missing<E>(entries: ReadonlyMap<string, E>, ...others: ReadonlyMap<string, unknown>[]): E[] {
  return [...entries].filter(([key]) => !others.some((other) => other.has(key))).map(([, entry]) => entry);
}

/** Returns a key for a handle and its lock: another program may use the same id for several locks. */
function byHandle<E extends HolderEntry | WaiterEntry>(entries: readonly E[]): Map<string, E> {
  return new Map(entries.map((entry) => [JSON.stringify([entry.name, entry.handle]), entry]));
}
