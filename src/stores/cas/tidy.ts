import { handleOf } from "../../store.ts";
import type { DocumentHolder, DocumentWaiter, LockDocument, RollCall, Turn } from "./document.ts";
import { holderSign, rollCallSign, type Sign, turnSign } from "./observations.ts";

/** For how long a turn may not be taken, in milliseconds. */
export const TURN_MS = 1_500;

/** How long a store object may take to answer a roll call, in milliseconds. */
export const ROLL_CALL_MS = 5_000;

/** The time from one roll call to the next, in milliseconds: usually, and while the document is large. */
const ROLL_CALL_INTERVAL_MS = 300_000;
const LARGE_INTERVAL_MS = 30_000;

/**
 * How much further away than its lease the end of a holder may be, in milliseconds. The time of the server is rounded up
 * when an end is written, by its age and by the drift of that.
 */
const OVERLONG_MS = 5_000;

/** How one store object sees a document at one moment. */
export interface DocumentView {
  /** The id of the store object. */
  readonly store: string;
  /** Whether a live handle of this store object waits under that id; `isKnown`: one that has attempted here. */
  readonly owns: (handle: string, isKnown?: boolean) => boolean;
  /** For how long a waiter of this store object that has not attempted here is taken for alive, in milliseconds. */
  readonly graceMs: number;
  /** The present moment, for what is written: never before the server's clock. In milliseconds since the Unix epoch. */
  readonly now: number;
  /** The same, no later than the server's clock. */
  readonly least: number;
  /** The server's clock when it answered; `undefined` where it has none. */
  readonly time: number | undefined;
  /** How long a lease or a turn lasts for others beyond its end by the clock, in milliseconds. */
  readonly skew: number;
  /** Whether the call cannot watch, so that without a server's clock it goes by the clock of the holder. */
  readonly cannotWatch: boolean;
  /** For how long the store object has seen something in the document. */
  readonly seenFor: (sign: Sign) => number;
  /** Returns whether the document has more than a quarter of its largest size. */
  readonly isLarge: () => boolean;
}

/** What was tidied up. */
export interface Tidied {
  readonly changed: boolean;
  /** The moment until which the leases last that were declared over by the server's clock. */
  readonly notBefore: number | undefined;
}

/**
 * Removes from a document what is over for one store object: leases that have ended, a turn that was not taken, waiters
 * that have missed a roll call, and waiters of this store object that no handle owns.
 */
export function tidy(document: LockDocument, view: DocumentView): Tidied {
  let changed = false;
  let notBefore: number | undefined;
  for (const holder of [...document.holders.values()]) {
    if (cap(holder, view)) changed = true;
    if (leaseLeft(holder, view) > 0) continue;
    document.holders.delete(handleOf(holder.claim));
    changed = true;
    // One that was seen for long enough may end later by the server's clock, if that was set back.
    const end = holder.end + view.skew;
    if (view.time !== undefined && end <= view.time) notBefore = Math.max(notBefore ?? 0, end);
  }
  // Most locks have no queue.
  if (document.queue.length === 0) return { changed, notBefore };
  const dead = deadWaiters(document, view);
  for (const { claim } of dead) document.dequeue(claim);
  return { changed: callRoll(document, view) || changed || dead.length > 0, notBefore };
}

/**
 * Returns how many milliseconds are left until a store object may declare a lease over, as far as it knows at present: when it
 * has seen the holder unchanged for the whole lease, or when the end is past by the server's clock. Where there is none, and
 * it cannot watch, the end must be past by the clocks of both, as far as these may be apart.
 */
export function leaseLeft(holder: DocumentHolder, view: DocumentView): number {
  const { end, lease } = holder;
  const unseen = lease - view.seenFor(holderSign(holder));
  if (view.time !== undefined) return Math.min(unseen, end + view.skew - view.time);
  return view.cannotWatch ? Math.min(unseen, end + view.skew - view.now) : unseen;
}

/** Returns the same for a turn. */
export function turnLeft(turn: Turn, view: DocumentView): number {
  return left(turn.since, TURN_MS, turnSign(turn), view);
}

/** Returns the same for a roll call. */
export function rollCallLeft(rollCall: RollCall, view: DocumentView): number {
  return left(rollCall.since, ROLL_CALL_MS, rollCallSign(rollCall), view);
}

function left(
  since: number,
  ms: number,
  sign: Sign,
  { time, now, skew, cannotWatch, seenFor }: DocumentView,
): number {
  // The clock may have been set back since: what was seen for long enough is over as well.
  const unseen = ms - seenFor(sign);
  return time !== undefined || cannotWatch ? Math.min(unseen, since + ms + skew - (time ?? now)) : unseen;
}

/** Gives the turn to the waiter at the head of the queue, if that can acquire the lock. */
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

/**
 * Cuts a lease that ends later than if it began now: the server's clock was set back. Returns whether it was cut. What the
 * server told may be older than the renewal, if writes do not tell its clock.
 */
function cap(holder: DocumentHolder, { time, now }: DocumentView): boolean {
  if (time === undefined || holder.end <= now + holder.lease + OVERLONG_MS) return false;
  holder.end = now + holder.lease;
  return true;
}

/** Returns the waiters that are struck off. */
function deadWaiters(document: LockDocument, view: DocumentView): DocumentWaiter[] {
  const { queue, turn, rollCall } = document;
  const head = turn === undefined ? undefined : queue.find(({ claim }) => handleOf(claim) === turn.handle);
  const late = turn !== undefined && head !== undefined && head.store !== view.store && turnLeft(turn, view) <= 0;
  // The store object may be started anew for each call. Waiters of one before it, that let a turn pass, are dead.
  const missed = turn !== undefined && head !== undefined && turnLeft(turn, view) + view.graceMs <= 0;
  const called = rollCallLeft(rollCall, view) <= 0;
  return queue.filter((waiter) => {
    if (waiter.store === view.store) return !view.owns(handleOf(waiter.claim), missed);
    // The other waiters of a store object whose turn was not taken are as dead as that one.
    return late && waiter.store === head.store || called && waiter.roll < rollCall.number;
  });
}

/** Answers a roll call, or begins one. Returns whether that changes the document. */
function callRoll(document: LockDocument, view: DocumentView): boolean {
  const { store, now, isLarge } = view;
  const { queue, rollCall } = document;
  const own = queue.filter((waiter) => waiter.store === store);
  const pending = queue.some(({ roll }) => roll < rollCall.number);
  const interval = isLarge() ? LARGE_INTERVAL_MS : ROLL_CALL_INTERVAL_MS;
  // One too many does no harm. But where two clocks are apart only one may find the other's roll call old, or they call
  // without end.
  const isDue = left(rollCall.since, interval, rollCallSign(rollCall), { ...view, cannotWatch: true, skew: 0 }) <= 0;
  const begins = !pending && own.length < queue.length && isDue;
  if (begins) document.rollCall = { number: ++document.counter, since: Math.floor(now) };
  const unanswered = own.filter(({ roll }) => roll < document.rollCall.number);
  for (const waiter of unanswered) waiter.roll = document.rollCall.number;
  return begins || unanswered.length > 0;
}
