import type { Entry, HolderEntry, QueryOptions, Snapshot } from "../../contract/store.ts";
import { entryOf, pageOf, withRanks } from "../../internal/listing/query_options.ts";
import { elapsed, type Instant } from "../../time/clock.ts";
import type { MemoryHolder, MemoryWaiter } from "./lock.ts";
import type { Locks } from "./locks.ts";

/** Returns the holders and the waiters of the selected locks, with the members of runs. */
export function snapshotOf(all: Locks, options: QueryOptions, now: Instant): Snapshot {
  const { name } = options;
  const { names, cursor } = pageOf(name === undefined ? all.names : [name], options);
  // Some of the names are no longer used.
  const locks = names.flatMap((name) => all.get(name) ?? []);
  return {
    held: locks.flatMap(({ holders }) => Array.from(holders.values(), (holder) => holderEntry(holder, now))),
    pending: withRanks(locks.flatMap((lock) => {
      const members = [...lock.holders.values()].flatMap((holder) => lock.membersOf(holder));
      return [...members.map((waiter) => ({ ...waiterEntry(waiter), member: true })), ...lock.queue.map(waiterEntry)];
    })),
    ...cursor === undefined ? {} : { cursor },
  };
}

function holderEntry({ claim, grantedAt, since, lease, fence }: MemoryHolder, now: Instant): HolderEntry {
  return { ...entryOf(claim), since: grantedAt, expiresIn: lease - elapsed(since, now), fence };
}

function waiterEntry({ claim, queuedAt }: MemoryWaiter): Entry {
  return { ...entryOf(claim), since: queuedAt };
}
