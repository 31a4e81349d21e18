import { type Clock, elapsed } from "../internal/clock.ts";
import { nameFilter } from "../internal/listing.ts";
import type { HolderEntry, QueryOptions, Snapshot, Store, WaiterEntry } from "../store.ts";
import { answerOf } from "./answer_of.ts";

/** How long a page may look through a store for names that match before it shows what it has found, in milliseconds. */
const SEARCH_MS = 1_000;

/** A lock that is held or waited for. */
export interface LockState {
  readonly name: string;
  readonly held: readonly HolderEntry[];
  readonly pending: readonly WaiterEntry[];
}

/** A page of a list of locks, by name. */
export interface LockPage {
  readonly locks: readonly LockState[];
  /** Where the next page begins, if this is not the last one. */
  readonly cursor: string | undefined;
}

/** What a page of a list shows. */
export type PageQuery = Readonly<Pick<QueryOptions, "match" | "cursor">> & { readonly limit: number };

/** Returns whether a store can list its locks. */
export function canList(store: Store): boolean {
  return store.query !== undefined && store.capabilities?.includes("query") === true;
}

/** Returns whether a store can evict the holders of a lock. */
export function canEvict(store: Store): boolean {
  return store.evict !== undefined && store.capabilities?.includes("evict") === true;
}

/** Reads a page: as many locks as asked for, or those found within a second. It may have none, although more follow. */
export async function readPage(store: Store, query: PageQuery, clock: Clock): Promise<LockPage> {
  const began = clock.now();
  const locks = new Map<string, LockState>();
  let { cursor } = query;
  do {
    const page: QueryOptions = {
      limit: Math.max(1, query.limit - locks.size),
      ...query.match === undefined ? {} : { match: query.match },
      ...cursor === undefined ? {} : { cursor },
    };
    const snapshot = await answerOf(() => store.query!(page), clock);
    for (const lock of byName(snapshot, nameFilter(query))) locks.set(lock.name, lock);
    cursor = snapshot.cursor;
  } while (cursor !== undefined && locks.size < query.limit && elapsed(began, clock.now()) < SEARCH_MS);
  return { locks: [...locks.values()].sort((a, b) => a.name < b.name ? -1 : 1), cursor };
}

/** Reads one lock; one that nobody holds or waits for has no entries. */
export async function readLock(store: Store, name: string, clock: Clock): Promise<LockState> {
  const [lock] = byName(await answerOf(() => store.query!({ name }), clock), nameFilter({ name }));
  return lock ?? { name, held: [], pending: [] };
}

/** Sorts the entries by the name of their lock. A store that knows no filter may have listed too many. */
function byName({ held, pending }: Snapshot, wanted: (name: string) => boolean): LockState[] {
  const locks = new Map<string, { name: string; held: HolderEntry[]; pending: WaiterEntry[] }>();
  const lock = (name: string) => {
    const known = locks.get(name) ?? { name, held: [], pending: [] };
    locks.set(name, known);
    return known;
  };
  for (const entry of held) if (wanted(entry.name)) lock(entry.name).held.push(entry);
  for (const entry of pending) if (wanted(entry.name)) lock(entry.name).pending.push(entry);
  return [...locks.values()];
}
