import { handleOf } from "../contract/store.ts";
import type { DocumentWaiter, LockDocument } from "./document.ts";
import type { OwnWaiters } from "./own_waiters.ts";
import { leaseOf, nameTimer, periodOf } from "./period.ts";
import type { DocumentView } from "./view.ts";

/**
 * By how much the end of a holder may be further away than its lease, in milliseconds. The time of the server is
 * rounded up when an end is written, by its age and by the drift of that age.
 */
const OVERLONG_MS = 5_000;

export interface Tidied {
  readonly changed: boolean;
  /** The latest end of the leases that were declared over by the server's clock. */
  readonly notBefore: number | undefined;
  /** Whether a store object was passed over: its waiters were removed. */
  readonly passesOver: boolean;
}

/**
 * Removes from a document all that is over in the view of one store object: leases that have ended, waiters of a store
 * object that has not taken its turn, and waiters of this store object that no handle owns.
 */
export function tidy(document: LockDocument, view: DocumentView, waiters: OwnWaiters): Tidied {
  let changed = false;
  let notBefore: number | undefined;
  for (const holder of [...document.holders.values()]) {
    // The server's clock was set back. If writes do not return it, the known time may be older than the renewal.
    if (view.time !== undefined && holder.end > view.now + holder.lease + OVERLONG_MS) {
      holder.end = view.now + holder.lease;
      changed = true;
    }
    if (view.left(leaseOf(holder)) > 0) continue;
    document.holders.delete(handleOf(holder.claim));
    changed = true;
    // A lease that was seen for its whole length may end later by the server's clock, if that clock was set back.
    const end = holder.end + view.skew;
    if (view.time !== undefined && end <= view.time) notBefore = Math.max(notBefore ?? 0, end);
  }
  // Most locks have no queue.
  if (document.queue.length === 0) return { changed, notBefore, passesOver: false };
  const dead = deadWaiters(document, view, waiters);
  for (const { claim } of dead) document.dequeue(claim);
  const passesOver = dead.some(({ store }) => store !== waiters.store);
  return { changed: changed || dead.length > 0, notBefore, passesOver };
}

/** Gives the turn to the waiter at the head of the queue, if it can acquire the lock. */
export function giveTurn(document: LockDocument, now: number): void {
  const [head] = document.queue.length === 0 ? [] : document.admissible(() => true);
  if (head === undefined) {
    document.turn = undefined;
    return;
  }
  const handle = handleOf(head.claim);
  if (document.turn?.handle === handle) return;
  document.turn = { handle, number: ++document.counter, since: Math.floor(now) };
}

/** Names timers of this store object for leases and turns without one. Returns whether the document changes. */
export function nameTimers(document: LockDocument, view: DocumentView): boolean {
  let changed = false;
  for (const { number, timer, ms } of view.oldPeriods(document)) {
    const own = timer === undefined ? view.timerFor(ms) : undefined;
    if (own === undefined) continue;
    nameTimer(document, number, own);
    changed = true;
  }
  return changed;
}

function deadWaiters({ queue, turn }: LockDocument, view: DocumentView, waiters: OwnWaiters): DocumentWaiter[] {
  const head = queue.find(({ claim }) => handleOf(claim) === turn?.handle);
  const left = turn === undefined || head === undefined ? Infinity : view.left(periodOf(turn));
  const late = left <= 0 && head?.store !== waiters.store;
  // The store object may be started anew for each call. Waiters of an earlier store object that has missed a turn are
  // dead.
  const missed = left + waiters.graceMs <= 0;
  return queue.filter((waiter) => {
    if (waiter.store === waiters.store) return !waiters.owns(handleOf(waiter.claim), missed);
    // A waiter writes nothing to show that it lives. So a missed turn is the only sign that a store object is dead, and
    // counts for all its waiters.
    return late && waiter.store === head?.store;
  });
}
