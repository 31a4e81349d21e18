import { StoreError } from "../../../contract/errors.ts";
import type { Meant } from "../../../internal/listing/eviction.ts";
import { blockLength } from "../../../rules/group.ts";
import { ownerKey } from "../../../rules/occupancy.ts";
import { type Claim, handleOf, kindOf } from "../../../contract/store.ts";
import type { LockState, LockView } from "./lock_state.ts";
import type { Statements } from "./statements.ts";

/** The reserved fences: the first, and how many. */
export interface GrantedBlock {
  readonly fence: number;
  readonly fences: number;
}

export interface QueuePlace {
  /** The ticket: smaller than the ticket of every later waiter. */
  readonly ticket: number;
  /** When the handle entered the queue, in milliseconds of the wall clock. */
  readonly since: number;
}

/** Makes the claim's handle a holder. Returns its fences: the wished number if possible, at least one. */
export function grant(run: Statements, claim: Claim, state: LockState, wish: number, now: number): GrantedBlock {
  const { expired, ticket, ownFence } = state;
  const { name, lease, renewal = 0, meta = null } = claim;
  if (expired) {
    run.deleteExpired.run(name, now);
    // Counted as a revocation: if the clock was ahead and is right again, such a holder still trusts its lease.
    run.countRevocation.run();
  }
  if (ticket !== undefined) run.dequeue.run(ticket);
  // A handle that asks again for several gets new ones: it is not known how many it had.
  const own = wish === 1 && ownFence !== undefined;
  const block = own ? { fence: ownFence, fences: 1 } : nextBlock(run, name, wish, now);
  const [handle, key, kind] = [handleOf(claim), ownerKey(claim), kindOf(claim)];
  run.grant.run(name, handle, key, kind, now + lease, lease, block.fence, renewal, now, meta);
  return block;
}

/** Records for listings which waiters left the queue with the grant of the claim's handle. */
export function noteRun(
  run: Statements,
  claim: Claim,
  members: readonly (QueuePlace & { readonly claim: Claim })[],
): void {
  const values = members.map(({ claim, since }) => [handleOf(claim), since, claim.meta ?? null]);
  run.noteRun.run(JSON.stringify(values), claim.name, handleOf(claim));
}

/** Revokes the lock of the selected holders, also where their leases have ended. Returns how many still held it. */
export function revoke(run: Statements, name: string, now: number, { handle, fence }: Meant = {}): number {
  const revoked = run.releaseHolders.all(name, handle ?? null, fence === undefined ? null : Number(fence), now);
  if (revoked.length > 0) run.countRevocation.run();
  return revoked.filter(({ held }) => held === 1).length;
}

/** Puts the claim's handle into the queue. Returns its place: the former place, if it had been deleted. */
export function enqueue(
  run: Statements,
  claim: Claim,
  former: QueuePlace | undefined,
  { client, now }: LockView,
): QueuePlace {
  const { ticket = null, since = now } = former ?? {};
  const { name, meta = null } = claim;
  run.addClient.run(client, now);
  const row = run.enqueue.get(ticket, name, handleOf(claim), ownerKey(claim), kindOf(claim), client, since, meta);
  return { ticket: Number(row?.["ticket"]), since: Number(row?.["since"]) };
}

/** Reserves fences above all former fences: microseconds of the clock, so that they rise even if the file is lost. */
function nextBlock(run: Statements, name: string, wish: number, now: number): GrantedBlock {
  const fence = Math.max(Number(run.lastFence.get()?.["last"]) + 1, Math.floor(now * 1000));
  if (fence > Number.MAX_SAFE_INTEGER) {
    throw new StoreError(
      `Cannot grant lock "${name}": the fences of the file have reached 2^53, and a larger one would not be exact`,
      { permanent: true },
    );
  }
  const fences = Math.min(blockLength(BigInt(fence), wish, now), Number.MAX_SAFE_INTEGER - fence + 1);
  run.raiseFence.run(fence + fences - 1);
  return { fence, fences };
}
