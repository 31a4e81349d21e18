import { entryOf, withRanks } from "../internal/listing/query_options.ts";
import type { HolderEntry, Snapshot, WaiterEntry } from "../contract/store.ts";
import type { LockRecord, RecordHolder, RecordWaiter } from "./lock_record.ts";

/**
 * Returns the holders of locks whose leases have not ended, the members of their runs, and the waiters. Beside each
 * lock is a function that returns how much is left of the lease of a holder, in milliseconds.
 */
export function snapshotOf<H extends RecordHolder<W>, W extends RecordWaiter>(
  locks: readonly (readonly [lock: LockRecord<H, W>, left: (holder: H) => number])[],
  cursor: string | undefined,
): Snapshot {
  const held: HolderEntry[] = [];
  const pending: Omit<WaiterEntry, "rank">[] = [];
  const waiterOf = ({ claim, queuedAt }: W) => ({ ...entryOf(claim), since: queuedAt });
  for (const [lock, left] of locks) {
    for (const holder of lock.holders.values()) {
      const { claim, grantedAt, fence } = holder;
      const expiresIn = left(holder);
      if (expiresIn <= 0) continue;
      held.push({ ...entryOf(claim), since: grantedAt, expiresIn, fence });
      pending.push(...lock.membersOf(holder).map((member) => ({ ...waiterOf(member), member: true })));
    }
    pending.push(...lock.queue.map(waiterOf));
  }
  return { held, pending: withRanks(pending), ...cursor === undefined ? {} : { cursor } };
}
