import { byName, entryOf, nameFilter, withRanks } from "../internal/listing/query_options.ts";
import { onStoreClock } from "../time/clock.ts";
import type { HolderEntry, QueryOptions, Snapshot, WaiterEntry } from "../contract/store.ts";
import type { Grant } from "./grant.ts";
import type { Handle } from "./handle.ts";
import type { NameHandoff } from "./name_handoff.ts";

type LocalWaiter = Omit<WaiterEntry, "rank">;

/**
 * Returns the store's listing, corrected by the handles of this process. The store lists the handle that it has granted
 * a lock to, which may have handed the lock on. It may list none of the waiters of this process, and it does not know
 * which members of a run still wait.
 */
export function withLocalHandles(
  { held, pending, ...page }: Snapshot,
  options: QueryOptions,
  handedOn: Iterable<[name: string, shared: NameHandoff]>,
): Snapshot {
  const known = [...handedOn];
  const grants = new Map(known.flatMap(([, { grants }]) => [...grants]));
  const waiters = byName<LocalWaiter>(pending);
  const holders: HolderEntry[] = [];
  const first = new Map<string, HolderEntry>();
  for (const entry of held) {
    const grant = grants.get(entry.handle);
    if (grant === undefined) holders.push(entry);
    else {
      holders.push(...holderOf(grant, entry));
      first.set(entry.name, entry);
    }
  }
  const isWanted = nameFilter(options);
  const isPage = options.name === undefined && (options.limit !== undefined || options.cursor !== undefined);
  for (const [name, state] of known) {
    // On a page, a name that the store does not list may belong to another page.
    if (!isWanted(name) || isPage && !waiters.has(name) && !first.has(name)) continue;
    waiters.set(name, withWaiters(waiters.get(name) ?? [], state, first.get(name)));
  }
  return { held: holders, pending: withRanks([...waiters.values()].flat()), ...page };
}

/** Returns the handle that holds the lock now, given the holder that the store lists: both have one lease. */
function holderOf({ holding, id, since }: Grant, entry: HolderEntry): HolderEntry[] {
  if (holding === undefined) return [];
  const { handle, fence } = holding;
  if (handle.id === id) return [{ ...entry, fence }];
  return [{ ...entry, ...entryOf(handle.claim), since: onStoreClock(holding.since, entry.since, since), fence }];
}

/**
 * Returns the waiters of a name: the waiters of the store, and after each waiter of this process the handles that the
 * store does not know.
 */
function withWaiters(
  listed: readonly LocalWaiter[],
  { grants, waiting }: NameHandoff,
  first?: HolderEntry,
): LocalWaiter[] {
  const holding = new Set([...grants.values()].map(({ holding }) => holding?.handle.id));
  const here = new Set(waiting.map(({ id }) => id));
  const isOwn = first !== undefined && grants.has(first.handle);
  // The place in the queue of a handle that was handed the lock is being given back.
  const waiters = listed.filter(({ handle, member }) =>
    !holding.has(handle) && (!member || !isOwn || here.has(handle))
  );
  const handles = new Set(waiters.map(({ handle }) => handle));
  const grant = first === undefined ? undefined : grants.get(first.handle);
  const since = ({ since }: Handle) =>
    grant === undefined ? since.wall : onStoreClock(since, first?.since, grant.since);
  // Waiters for a holder of this process come first. A handle that is about to queue comes last.
  let place = grant === undefined ? waiters.length : 0;
  for (const handle of waiting) {
    if (handles.has(handle.id)) place = 1 + waiters.findIndex((waiter) => waiter.handle === handle.id);
    else if (handle.state === "asking" && handle.place === "none") {
      waiters.push({ ...entryOf(handle.claim), since: since(handle) });
    } else waiters.splice(place++, 0, { ...entryOf(handle.claim), since: since(handle) });
  }
  return waiters;
}
