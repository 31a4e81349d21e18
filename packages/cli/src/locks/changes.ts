import type { HolderEntry, WaiterEntry } from "../../store.ts";
import type { ListedLock } from "./listing.ts";

/** What became of a handle between two looks. */
export interface Change {
  /** It `holds` the lock now, or `waits` for it now; it has `ended` to hold it, or `left` the queue without the lock. */
  readonly change: "holds" | "ended" | "waits" | "left";
  /** The handle, as it was last seen. */
  readonly entry: HolderEntry | WaiterEntry;
}

/** Returns what has changed: first what has ended, then what has begun. */
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

/** Returns the handles that none of the others has. */
function missing<E>(entries: ReadonlyMap<string, E>, ...others: ReadonlyMap<string, unknown>[]): E[] {
  return [...entries].filter(([key]) => !others.some((other) => other.has(key))).map(([, entry]) => entry);
}

/** A handle is of one lock, but another program may use the same id for several. */
function byHandle<E extends HolderEntry | WaiterEntry>(entries: readonly E[]): Map<string, E> {
  return new Map(entries.map((entry) => [JSON.stringify([entry.name, entry.handle]), entry]));
}
