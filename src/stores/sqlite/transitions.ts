import { StoreError } from "../../errors.ts";
import { ownerKey } from "../../internal/owner_key.ts";
import { type Claim, handleOf, kindOf } from "../../store.ts";
import type { LockState, View } from "./lock_state.ts";
import type { Statements } from "./statements.ts";

/** Makes the claim's handle a holder. Returns its fence. */
export function grant(run: Statements, claim: Claim, { expired, ticket, ownFence }: LockState, now: number): number {
  const { name, lease, renewal = 0 } = claim;
  if (expired) deleteExpired(run, name, now);
  if (ticket !== undefined) run.dequeue.run(ticket);
  const fence = ownFence ?? nextFence(run, name, now);
  run.grant.run(name, handleOf(claim), ownerKey(claim), kindOf(claim), now + lease, lease, fence, renewal);
  return fence;
}

/** Takes the lock from all its holders, also from those whose leases have ended and who may not know. */
export function revoke(run: Statements, name: string): void {
  if (run.releaseAll.run(name).changes > 0) run.countRevocation.run();
}

/** Puts the claim's handle into the queue. Returns its ticket: the one that it has already, if it has one. */
export function enqueue(run: Statements, claim: Claim, ticket: number | undefined, { client, now }: View): number {
  run.addClient.run(client, now);
  const row = run.enqueue.get(ticket ?? null, claim.name, handleOf(claim), ownerKey(claim), kindOf(claim), client);
  return Number(row?.["ticket"]);
}

/** Returns a fence above all former ones: microseconds of the clock, so that fences rise even if the file is lost. */
function nextFence(run: Statements, name: string, now: number): number {
  const fence = Math.max(Number(run.lastFence.get()?.["last"]) + 1, Math.floor(now * 1000));
  if (fence > Number.MAX_SAFE_INTEGER) {
    throw new StoreError(
      `Cannot grant lock "${name}": the fences of the file have reached 2^53, and a larger one would not be exact`,
      { permanent: true },
    );
  }
  run.raiseFence.run(fence);
  return fence;
}

/** Deletes the holders whose leases have ended. */
function deleteExpired(run: Statements, name: string, now: number): void {
  run.deleteExpired.run(name, now);
  // Counted as a revocation: if the clock was ahead and is right again, such a holder still trusts its lease.
  run.countRevocation.run();
}
