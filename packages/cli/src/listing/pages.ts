import type { QueryOptions, Snapshot } from "@holdfast/lock";
import { nameFilter } from "@holdfast/lock/authors";
import { groupByLock, type ListedLock } from "./locks.ts";

/**
 * How many names a store is asked for at once: it answers within a few milliseconds, and serves other calls in between.
 */
const PAGE_SIZE = 500;

/** Some locks of a store. */
export interface LockPage {
  readonly locks: readonly ListedLock[];
  /** Where the next page begins; left out on the last page. */
  readonly cursor: string | undefined;
}

/** The locks to list: the lock of a name, the locks that match a pattern, or all; perhaps from a place on. */
export type WantedPage = Readonly<Pick<QueryOptions, "name" | "match" | "cursor">>;

/** Asks a store for a page. */
export type Ask = (options: QueryOptions) => Promise<Snapshot>;

/** Yields the locks of a store page by page, each lock once. */
export async function* lockPages(ask: Ask, { cursor, ...which }: WantedPage): AsyncGenerator<LockPage> {
  const seen = new Set<string>();
  const matches = nameFilter(which);
  // A single name has no pages.
  const limit = which.name === undefined ? { limit: PAGE_SIZE } : {};
  let next = cursor;
  do {
    const snapshot = await ask({ ...which, ...limit, ...next === undefined ? {} : { cursor: next } });
    // A page may have more than was asked for, and what another page had.
    const locks = groupByLock(snapshot, (name) => matches(name) && !seen.has(name));
    for (const { name } of locks) seen.add(name);
    next = snapshot.cursor;
    yield { locks, cursor: next };
  } while (next !== undefined);
}

/** Reads pages until there are enough locks; a cursor in the result says that the listing was cut there. */
export async function readPages(
  pages: AsyncIterable<LockPage>,
  isEnough: (locks: number) => boolean = () => false,
): Promise<LockPage> {
  const locks: ListedLock[] = [];
  for await (const page of pages) {
    for (const lock of page.locks) locks.push(lock);
    if (page.cursor !== undefined && isEnough(locks.length)) return { locks, cursor: page.cursor };
  }
  return { locks, cursor: undefined };
}

/** Reads the lock of a name from the pages of that name. A lock without holders and waiters has no entries. */
export async function onlyLock(pages: AsyncIterable<LockPage>, name: string): Promise<ListedLock> {
  return (await readPages(pages)).locks[0] ?? { name, held: [], pending: [] };
}
