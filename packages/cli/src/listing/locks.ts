import type { HolderEntry, Snapshot, WaiterEntry } from "@holdfast/lock";

/** A lock that is held or waited for. */
export interface ListedLock {
  readonly name: string;
  readonly held: readonly HolderEntry[];
  /** The waiters, in the order in which they will be served. */
  readonly pending: readonly WaiterEntry[];
}

/** The order of locks: the longest wait first, or by name. */
export type LockOrder = "wait" | "name";

/** The orders that callers may choose. */
export const LOCK_ORDERS: readonly LockOrder[] = ["wait", "name"];

/** Totals of many locks. */
export interface Totals {
  /** How many locks are held. */
  readonly held: number;
  /** How many handles wait. */
  readonly waiting: number;
  /** How many locks are contended. */
  readonly contended: number;
}

/**
 * Groups the entries of a snapshot by lock, and leaves out locks that were not asked for: a store without a filter may
 * list them.
 */
export function groupByLock({ held, pending }: Snapshot, isWanted: (name: string) => boolean): ListedLock[] {
  const locks = new Map<string, { name: string; held: HolderEntry[]; pending: WaiterEntry[] }>();
  const lock = (name: string) => {
    const known = locks.get(name) ?? { name, held: [], pending: [] };
    locks.set(name, known);
    return known;
  };
  for (const entry of held) if (isWanted(entry.name)) lock(entry.name).held.push(entry);
  for (const entry of pending) if (isWanted(entry.name)) lock(entry.name).pending.push(entry);
  return [...locks.values()];
}

/** Returns whether a lock has waiters. */
export function isContended({ pending }: ListedLock): boolean {
  return pending.length > 0;
}

/** Returns when the longest of these waits began; `undefined` if there is none, or the store does not know. */
export function waitingSince({ pending }: Pick<ListedLock, "pending">): number | undefined {
  return pending.reduce<number | undefined>(
    (first, { since }) => since !== undefined && since < (first ?? Infinity) ? since : first,
    undefined,
  );
}

/** Returns the totals of these locks. */
export function totalsOf(locks: readonly ListedLock[]): Totals {
  return {
    held: locks.filter(({ held }) => held.length > 0).length,
    waiting: locks.reduce((sum, { pending }) => sum + pending.length, 0),
    contended: locks.filter(isContended).length,
  };
}

/** Returns the locks in an order, and equal locks by name. */
export function sortLocks(locks: readonly ListedLock[], order: LockOrder): ListedLock[] {
  const byName = [...locks].sort((a, b) => a.name < b.name ? -1 : 1);
  if (order === "name") return byName;
  const keys = new Map(byName.map((lock) => [lock, waitKey(lock)]));
  return byName.sort((a, b) => {
    const [x, y] = [keys.get(a)!, keys.get(b)!];
    return x < y ? -1 : x > y ? 1 : 0;
  });
}

/**
 * Returns a number that is lower the longer the wait: first known waits, then unknown waits, then locks without
 * waiters.
 */
function waitKey(lock: ListedLock): number {
  return isContended(lock) ? waitingSince(lock) ?? Number.MAX_VALUE : Infinity;
}
