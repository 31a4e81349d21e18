import type { QueryOptions, Store } from "@holdfast/lock";
import { nameFilter } from "@holdfast/lock/authors";
import { type Clock, monotonicMs } from "../../time/clock.ts";
import { groupByLock, type ListedLock, sortLocks } from "../../listing/locks.ts";
import { type LockPage, lockPages, onlyLock, readPages } from "../../listing/pages.ts";
import { answerOf } from "../requests/answer_of.ts";

/** How long a page may search a store for matching names before it shows the names found, in milliseconds. */
const SEARCH_MS = 1_000;

/**
 * How many locks a list reads at most, and for how long, in milliseconds: its order and its totals need all of them.
 */
const MOST_LOCKS = 20_000;
const READ_MS = 2_000;

/** The filter of a list. */
export type ListQuery = Readonly<Pick<QueryOptions, "match" | "cursor">>;

/** The query of a program. */
export type PageQuery = ListQuery & { readonly limit: number };

/** Returns whether a store can list its locks. */
export function canList(store: Store): boolean {
  return store.query !== undefined && store.capabilities?.includes("query") === true;
}

/** Returns whether a store can evict the holders of a lock. */
export function canEvict(store: Store): boolean {
  return store.evict !== undefined && store.capabilities?.includes("evict") === true;
}

/** Reads the locks of a list. If there are too many, or the signal aborts, the cursor says where the reading ended. */
export async function readList(store: Store, query: ListQuery, clock: Clock, signal?: AbortSignal): Promise<LockPage> {
  const began = clock.now();
  const pages = lockPages((options) => answerOf(() => store.query!(options), clock), query);
  return await readPages(pages, (locks) => {
    return locks >= MOST_LOCKS || signal?.aborted === true || monotonicMs(began, clock.now()) >= READ_MS;
  });
}

/**
 * Reads a page: as many locks as requested, or the locks found within a second. It may have none, although more follow.
 */
export async function readPage(store: Store, query: PageQuery, clock: Clock): Promise<LockPage> {
  const began = clock.now();
  const locks = new Map<string, ListedLock>();
  let { cursor } = query;
  do {
    const page: QueryOptions = {
      limit: Math.max(1, query.limit - locks.size),
      ...query.match === undefined ? {} : { match: query.match },
      ...cursor === undefined ? {} : { cursor },
    };
    const snapshot = await answerOf(() => store.query!(page), clock);
    for (const lock of groupByLock(snapshot, nameFilter(query))) locks.set(lock.name, lock);
    cursor = snapshot.cursor;
  } while (cursor !== undefined && locks.size < query.limit && monotonicMs(began, clock.now()) < SEARCH_MS);
  return { locks: sortLocks([...locks.values()], "name"), cursor };
}

/** Reads one lock. A lock without holders and waiters has no entries. */
export function readLock(store: Store, name: string, clock: Clock): Promise<ListedLock> {
  return onlyLock(lockPages((options) => answerOf(() => store.query!(options), clock), { name }), name);
}
