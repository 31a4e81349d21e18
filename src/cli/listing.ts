import { nameFilter } from "../internal/listing.ts";
import type { Entry, HolderEntry, QueryOptions, Snapshot, Store, WaiterEntry } from "../store.ts";
import { answerOf } from "./answer.ts";
import { type Invocation, UsageError } from "./command.ts";
import type { OpenedStore } from "./scheme.ts";
import { shown } from "./shown.ts";

/** How many names are asked for at once. */
const PAGE = 500;

/** A lock that is held or waited for. */
export interface ListedLock {
  readonly name: string;
  readonly held: readonly HolderEntry[];
  /** In the order in which they will be served. */
  readonly pending: readonly WaiterEntry[];
}

/** Which locks to list: the only one with a name, or those that match a pattern. */
export type Wanted = Pick<QueryOptions, "name" | "match">;

/** Returns which locks a word of the command line means: in a pattern `*` stands for any text; all without a word. */
export function wanted(word: string | undefined): Wanted {
  if (word === undefined) return {};
  return word.includes("*") ? { match: word } : { name: word };
}

/** Yields the locks page by page, each lock once. */
export async function* listLocks(
  opened: OpenedStore,
  which: Wanted,
  signal: AbortSignal,
): AsyncGenerator<ListedLock[]> {
  const { store, label } = opened;
  if (store.query === undefined) throw new UsageError(`${label} cannot list its locks`);
  const seen = new Set<string>();
  const matches = nameFilter(which);
  // A store with one name has no pages.
  const limit = which.name === undefined ? { limit: PAGE } : {};
  let cursor: string | undefined;
  do {
    const options = { ...which, ...limit, ...cursor === undefined ? {} : { cursor } };
    const page: Snapshot = await answerOf(opened, query(store, options), signal);
    // A page may have more than was asked for, and what another page had.
    const locks = byName(page).filter(({ name }) => matches(name) && !seen.has(name));
    for (const { name } of locks) seen.add(name);
    yield locks;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Resolves to all the locks, in the order of their names. */
export async function allLocks(opened: OpenedStore, which: Wanted, signal: AbortSignal): Promise<ListedLock[]> {
  const locks: ListedLock[] = [];
  for await (const page of listLocks(opened, which, signal)) locks.push(...page);
  return locks.sort((a, b) => a.name < b.name ? -1 : 1);
}

/** Warns if the store lists only some of the locks. */
export async function warnIfPartial(opened: OpenedStore, { terminal, signal }: Invocation): Promise<void> {
  const why = await answerOf(opened, Promise.resolve(opened.partial?.()), signal);
  if (why !== undefined) terminal.err(`holdfast: ${why}`);
}

/** Says where locks were looked for: ` in redis://127.0.0.1:6379 with the prefix lock:`. */
export function placeOf({ label, prefix }: OpenedStore): string {
  return ` in ${label}${prefix === undefined ? "" : ` with the prefix ${shown(prefix)}`}`;
}

/** Returns a hint if a name looks like a pattern, which only `ls` and `watch` take. */
export function patternHint(name: string): string[] {
  if (!name.includes("*")) return [];
  return [`in a name * is a character like any other: holdfast ls '${shown(name)}' lists what matches`];
}

/** Resolves to what is known of one lock, also if it has neither holder nor waiter. */
export async function lockOf(opened: OpenedStore, name: string, signal: AbortSignal): Promise<ListedLock> {
  const [lock] = await allLocks(opened, { name }, signal);
  return lock ?? { name, held: [], pending: [] };
}

/** Returns who a handle belongs to, in a few words: host and process, or the owner. */
export function holderName({ owner, meta }: Pick<Entry, "owner" | "meta">): string {
  const { host, pid } = meta ?? {};
  const words = [host, pid].filter((word) => word !== undefined);
  return shown(words.length > 0 ? words.join("/") : owner);
}

/** Returns the holder that has had a lock for the longest time. */
export function oldestOf(held: readonly HolderEntry[]): HolderEntry | undefined {
  return [...held].sort((a, b) => (a.since ?? Infinity) - (b.since ?? Infinity) || 0)[0];
}

/** Returns how a lock is held or wanted: `exclusive`, `shared`, or how many may hold it. */
export function modeName({ mode, permits }: Pick<Entry, "mode" | "permits">): string {
  return permits === undefined ? mode : `${permits} permit${permits === 1 ? "" : "s"}`;
}

/** Returns the promise of a query; a store that throws rejects. */
async function query(store: Store, options: QueryOptions): Promise<Snapshot> {
  return await store.query!(options);
}

function byName({ held, pending }: Snapshot): ListedLock[] {
  const locks = new Map<string, { name: string; held: HolderEntry[]; pending: WaiterEntry[] }>();
  const get = (name: string) => {
    const lock = locks.get(name) ?? { name, held: [], pending: [] };
    locks.set(name, lock);
    return lock;
  };
  for (const holder of held) get(holder.name).held.push(holder);
  for (const waiter of pending) get(waiter.name).pending.push(waiter);
  return [...locks.values()];
}
