import { joinsRun, takesRun } from "../../../rules/group.ts";
import { type Claim, kindOf } from "../../../contract/store.ts";
import type { LockState, LockView } from "./lock_state.ts";
import type { Statements } from "./statements.ts";
import type { LocalWaiters, QueuedWaiter } from "../watch/local_waiters.ts";

/** The longest run that one grant takes out of the queue, so that no transaction takes long. */
export const RUN_LIMIT = 100;

/** The waiters after a claim that can be granted. */
export interface Succession {
  /** The waiters of this process that directly follow the claim and belong to its group; none if it takes no run. */
  readonly followers: readonly QueuedWaiter[];
  /** Whether there are other waiters in the queue; `undefined` if this is not needed. */
  readonly othersWait: boolean | undefined;
}

/** A claim that can be granted. */
export interface Grantee {
  readonly claim: Claim;
  readonly state: LockState;
  readonly view: LockView;
  /** Whether the claim is granted ahead of the queue, so that no waiter follows it. */
  readonly stolen: boolean;
}

export function succession(run: Statements, waiters: LocalWaiters, grantee: Grantee): Succession {
  const { claim, state: { ticket, ownFence }, view, stolen } = grantee;
  const next = !stolen && ownFence === undefined;
  // An exclusive claim that is not in the queue is not granted past anybody.
  if (next && ticket === undefined && kindOf(claim) === "exclusive") return { followers: [], othersWait: false };
  const takes = next && takesRun(claim);
  if (!takes && claim.group === undefined && claim.fences === undefined) {
    return { followers: [], othersWait: undefined };
  }
  // One more than a run may have, and the claim itself.
  const limit = (takes ? RUN_LIMIT : 0) + 2;
  const others = run.first.all(claim.name, view.client, view.now, view.deadAfter, limit)
    .filter((row) => row["ticket"] !== ticket);
  const followers: QueuedWaiter[] = [];
  for (const row of takes ? others.slice(0, RUN_LIMIT) : []) {
    const waiter = waiters.queue(claim.name)?.waiters.get(String(row["handle"]));
    if (waiter === undefined || waiter.ticket !== row["ticket"] || !isFree(waiter) || !joinsRun(waiter.claim, claim)) {
      break;
    }
    followers.push(waiter);
  }
  return { followers, othersWait: others.length > followers.length };
}

/** Returns whether a waiter only waits: an attempt under way would put it back into the queue. */
function isFree({ attempts, woken, releasing }: QueuedWaiter): boolean {
  return attempts === 0 && !woken && !releasing;
}
