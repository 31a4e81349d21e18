import { handleName } from "../display/entries.ts";
import { type ListedLock, sortLocks } from "../listing/locks.ts";
import { type LockPage, lockPages, onlyLock, readPages } from "../listing/pages.ts";
import type { Entry, QueryOptions } from "@holdfast/lock";
import { answerOf } from "../terminal/answer.ts";
import { type Invocation, UsageError } from "../command.ts";
import type { OpenedStore } from "../schemes/scheme.ts";
import { shown } from "../terminal/shown.ts";

export type { ListedLock };

/** The locks to list: the lock with a name, or the locks that match a pattern. */
export type Wanted = Pick<QueryOptions, "name" | "match">;

/**
 * Returns the locks that a word of the command line selects: in a pattern `*` stands for any text. Without a word it
 * selects all.
 */
export function wanted(word: string | undefined): Wanted {
  if (word === undefined) return {};
  return word.includes("*") ? { match: word } : { name: word };
}

/** Yields the locks page by page, each lock once. */
export function listLocks(opened: OpenedStore, which: Wanted, signal: AbortSignal): AsyncGenerator<LockPage> {
  const { store, label } = opened;
  if (store.query === undefined) throw new UsageError(`${label} cannot list its locks`);
  // A store that throws rejects.
  return lockPages((options) => answerOf(opened, (async () => await store.query!(options))(), signal), which);
}

/** Resolves to all the locks, in the order of their names. */
export async function allLocks(opened: OpenedStore, which: Wanted, signal: AbortSignal): Promise<ListedLock[]> {
  return sortLocks((await readPages(listLocks(opened, which, signal))).locks, "name");
}

/** Warns if the store lists only some of the locks. */
export async function warnIfPartial(opened: OpenedStore, { terminal, signal }: Invocation): Promise<void> {
  const why = await answerOf(opened, Promise.resolve(opened.partial?.()), signal);
  if (why !== undefined) terminal.err(`holdfast: ${why}`);
}

/** Describes the place of the locks: ` in redis://127.0.0.1:6379 with the prefix lock:`. */
export function placeOf({ label, prefix }: OpenedStore): string {
  return ` in ${label}${prefix === undefined ? "" : ` with the prefix ${shown(prefix)}`}`;
}

/** Returns a hint for a name that looks like a pattern, which only `ls` and `watch` take. */
export function patternHint(name: string): string[] {
  if (!name.includes("*")) return [];
  return [`in a name * is a character like any other: holdfast ls '${shown(name)}' lists what matches`];
}

/** Resolves to the state of one lock, also if it has neither holder nor waiter. */
export function lockOf(opened: OpenedStore, name: string, signal: AbortSignal): Promise<ListedLock> {
  return onlyLock(listLocks(opened, { name }, signal), name);
}

/** Returns the name of a holder for the terminal. */
export function holderName(entry: Pick<Entry, "owner" | "meta">): string {
  return shown(handleName(entry));
}
