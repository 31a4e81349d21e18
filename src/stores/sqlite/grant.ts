import { type Claim, holdOf, kindOf } from "../../store.ts";
import { partyOf } from "../../_party.ts";
import type { Standing } from "./standing.ts";
import type { Statements } from "./statements.ts";

/** Writes down that the claim holds the lock; gives its fence. */
export function grant(run: Statements, claim: Claim, { kind, lapsed, ticket, fence }: Standing, now: number): number {
  const { name, lease } = claim;
  if (lapsed) bury(run, name, now);
  if (ticket !== undefined) run.leave.run(ticket);
  const granted = fence ?? nextFence(run, now);
  run.hold.run(name, holdOf(claim), partyOf(claim), kind, kindOf(claim), now + lease, lease, granted);
  return granted;
}

/** Larger than every fence before. In microseconds of the clock, so that it rises when the file is lost, too. */
function nextFence(run: Statements, now: number): number {
  const fence = Math.max(Number(run.lastFence.get()?.["last"]) + 1, Math.floor(now * 1000));
  run.raise.run(fence);
  return fence;
}

/** Deletes the holds whose leases have ended. */
function bury(run: Statements, name: string, now: number): void {
  run.bury.run(name, now);
  // Their holders look then. One believes in its lease still if the clock was wrong and has been put right since.
  run.evict.run();
}

/** Takes the lock from whoever holds it, or may believe so. */
export function take(run: Statements, name: string): void {
  if (run.clear.run(name).changes > 0) run.evict.run();
}

/** Writes down that the claim waits; gives its place, which is the one that it has if it has one. */
export function enter(run: Statements, claim: Claim, ticket: number | undefined, now: number): number {
  const { name } = claim;
  return Number(run.enqueue.get(ticket ?? null, name, holdOf(claim), partyOf(claim), kindOf(claim), now)?.["ticket"]);
}
