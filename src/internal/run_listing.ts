import type { Run } from "./run.ts";
import { type Entry, entryOf, type Snapshot } from "../store.ts";

/** Returns the snapshot with the handles that have the locks of runs, and wait for them, in the place of the first ones. */
export function withRuns({ held, pending }: Snapshot, all: Iterable<Run>): Snapshot {
  const runs = [...all];
  const members = runs.flatMap(({ waiters }) => waiters.map(({ claim }) => claim));
  const owners = new Set(members.map(({ owner }) => owner));
  const holder = (entry: Entry) => {
    const run = runs.find(({ lease: { claim } }) => claim.owner === entry.owner && claim.name === entry.name);
    return run?.holder === undefined ? entry : entryOf(run.holder);
  };
  return {
    held: held.map(holder),
    pending: [...members.map(entryOf), ...pending.filter(({ owner }) => !owners.has(owner))],
  };
}
