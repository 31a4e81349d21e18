import { withRanks } from "./listing.ts";
import type { Run, RunWaiter } from "./run.ts";
import { onStoreClock } from "./store_time.ts";
import { type Entry, entryOf, handleOf, type HolderEntry, type Snapshot } from "../store.ts";

/**
 * Returns the snapshot with the handles that have the locks of runs, and wait for them, in the place of the first ones.
 * What a run has handed on and nobody has taken yet is held by nobody.
 */
export function withRuns({ held, pending, ...page }: Snapshot, all: Iterable<Run>): Snapshot {
  const listed = new Map(held.map((entry) => [entry.handle, entry]));
  const runs = new Map<string, Run>();
  const members: Entry[] = [];
  for (const run of all) {
    const { owner, name } = run.lease.claim;
    const first = listed.get(owner);
    // A run whose holder is not listed is of another page, or its lease has ended.
    if (first?.name !== name) continue;
    runs.set(owner, run);
    members.push(...run.waiters.map((waiter) => memberEntry(run, waiter, first)));
  }
  const handles = new Set(members.map(({ handle }) => handle));
  return {
    held: held.flatMap((entry) => {
      const run = runs.get(entry.handle);
      return run === undefined ? [entry] : holderEntry(run, entry);
    }),
    pending: withRanks([...members, ...pending.filter(({ handle }) => !handles.has(handle))]),
    ...page,
  };
}

/** Returns the present holder of a run, given the entry of the first one: both have one lease. */
function holderEntry({ holder, fence, since, startedAt }: Run, first: HolderEntry): HolderEntry[] {
  if (holder === undefined) return [];
  if (handleOf(holder) === first.handle) return [{ ...first, fence }];
  return [{ ...first, ...entryOf(holder), since: onStoreClock(since, first.since, startedAt), fence }];
}

function memberEntry({ startedAt }: Run, { claim, since = startedAt }: RunWaiter, first: HolderEntry): Entry {
  return { ...entryOf(claim), since: onStoreClock(since, first.since, startedAt) };
}
