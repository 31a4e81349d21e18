import type { Entry, Snapshot } from "../../store.ts";

/** What is to be listed in place of the ids that only the store knows. */
export interface NameListing {
  /** The handles that have the lock, by the id under which the store has it. */
  readonly held: ReadonlyMap<string, Entry | undefined>;
  /** The handles in the local queue, and the id under which they wait in the store. */
  readonly waiting: readonly Entry[];
  readonly asking: string | undefined;
}

/** Returns what a store lists, with the handles of this process in place of the ids under which it asks for them. */
export function withLocalHandles({ held, pending }: Snapshot, names: ReadonlyMap<string, NameListing>): Snapshot {
  const holders = held.flatMap((entry) => {
    const listing = names.get(entry.name);
    if (!listing?.held.has(entry.owner)) return [entry];
    const holder = listing.held.get(entry.owner);
    return holder === undefined ? [] : [holder];
  });
  const waiters: Entry[] = [];
  const listed = new Set<string>();
  const list = (name: string) => {
    if (!listed.has(name)) waiters.push(...names.get(name)?.waiting ?? []);
    listed.add(name);
  };
  for (const entry of pending) {
    const asking = names.get(entry.name)?.asking;
    if (asking === entry.owner) list(entry.name);
    else {
      // Those that wait for a holder of this process come first, unless the process has a place in the queue.
      if (asking === undefined) list(entry.name);
      waiters.push(entry);
    }
  }
  for (const name of names.keys()) list(name);
  return { held: holders, pending: waiters };
}
