import { byName, withRanks } from "../../internal/listing/query_options.ts";
import type { Entry, HolderEntry, Snapshot } from "../../contract/store.ts";
import { coordinators } from "../attempt/coordinators.ts";
import { ownerOf } from "../attempt/round_id.ts";

/**
 * Merges the listings of several nodes.
 *
 * - A handle holds a lock if a majority lists it as a holder whose lease has not ended.
 * - A handle waits if any node lists it as a waiter and it is not a holder: each waits in the queue of one node only.
 *   The queues of a name come in the order in which the nodes coordinate it.
 */
export function merge(
  snapshots: readonly (Snapshot | undefined)[],
  needed: number,
): Pick<Snapshot, "held" | "pending"> {
  const votes = new Map<string, HolderEntry[]>();
  for (const snapshot of snapshots) {
    for (const [handle, entry] of holdersOf(snapshot)) {
      const others = votes.get(handle);
      if (others === undefined) votes.set(handle, [entry]);
      else others.push(entry);
    }
  }
  for (const [handle, entries] of votes) if (entries.length < needed) votes.delete(handle);
  return {
    held: Array.from(votes.values(), (entries) => holderOf(entries, needed)),
    pending: withRanks(waiters(snapshots, (entry) => votes.has(keyOf(entry)))),
  };
}

/** Returns the handles that hold a lock on one node; of two rounds of one owner, the round with the longer lease. */
function holdersOf(snapshot: Snapshot | undefined): Map<string, HolderEntry> {
  const holders = new Map<string, HolderEntry>();
  for (const entry of snapshot?.held ?? []) {
    const { expiresIn = Infinity } = entry;
    const other = holders.get(keyOf(entry));
    if (expiresIn > (other?.expiresIn ?? 0)) holders.set(keyOf(entry), entry);
  }
  return holders;
}

/** Returns the entry of a handle that at least a majority lists. */
function holderOf(entries: readonly HolderEntry[], needed: number): HolderEntry {
  const first = entries[0]!;
  const leases = entries.map(({ expiresIn }) => expiresIn).filter((ms) => ms !== undefined);
  const since = entries.map(({ since }) => since).filter((at) => at !== undefined).sort((a, b) => a - b);
  return {
    ...withOwner(first),
    meta: entries.find(({ meta }) => meta !== undefined)?.meta,
    since: since[Math.floor((since.length - 1) / 2)],
    // For so long a majority still has it.
    expiresIn: leases.sort((a, b) => b - a)[needed - 1],
    fence: commonFence(entries, needed),
  };
}

/** Returns the fence that a majority lists: nodes with higher counters list another fence, or none. */
function commonFence(entries: readonly HolderEntry[], needed: number): bigint | undefined {
  const counts = new Map<bigint, number>();
  for (const { fence } of entries) {
    if (fence === undefined) continue;
    const count = (counts.get(fence) ?? 0) + 1;
    if (count === needed) return fence;
    counts.set(fence, count);
  }
  return undefined;
}

function waiters(snapshots: readonly (Snapshot | undefined)[], isHolder: (entry: Entry) => boolean): Entry[] {
  const queues = snapshots.map((snapshot) => byName(snapshot?.pending ?? []));
  const names = new Set(queues.flatMap((queue) => [...queue.keys()]));
  const seen = new Set<string>();
  return [...names].flatMap((name) =>
    coordinators(name, snapshots.length).flatMap((i) => queues[i]!.get(name) ?? []).flatMap((entry) => {
      const key = keyOf(entry);
      if (seen.has(key) || isHolder(entry)) return [];
      seen.add(key);
      return [withOwner(entry)];
    })
  );
}

/** Returns an entry with the owner in place of the id of its round. */
function withOwner<E extends Entry>(entry: E): E {
  const owner = ownerOf(entry.owner);
  return { ...entry, owner, handle: owner };
}

function keyOf({ name, owner }: Entry): string {
  return `${name.length}:${name}${ownerOf(owner)}`;
}
