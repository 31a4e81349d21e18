import { StoreError } from "../contract/errors.ts";
import type { Instant } from "../time/clock.ts";
import type { Claim } from "../contract/store.ts";
import type { LockDocument } from "./document.ts";
import type { OwnWaiters } from "./own_waiters.ts";
import { bytesOf, type Seen } from "./seen.ts";
import { giveTurn, nameTimers, tidy } from "./tidy.ts";
import type { DocumentView } from "./view.ts";

/** The room in a document for holders, in bytes, and the part of it for growth of the present holders. */
const RESERVED_BYTES = 4_096;
const RESERVED_FOR_PRESENT_BYTES = 1_024;

/** By how many bytes a holder may grow, with the number of a renewal and more digits. */
const HOLDER_GROWTH_BYTES = 40;

/** By how many bytes the name of a timer may lengthen a holder, where the server has timers. */
const TIMER_BYTES = 50;

/** How many bytes a holder takes besides its claim, and how many with the longest claim. */
const HOLDER_BYTES = 200;
const LONGEST_HOLDER_BYTES = 8_192;

export interface DocumentChange<T> {
  /**
   * Whether its handle does not wait, or no longer waits, so that it cannot watch how long a document stays unchanged.
   */
  readonly cannotWatch?: boolean;
  /** For how many milliseconds its caller waits; for ever when left out. */
  readonly patience?: number;
  /** Whether it may pass earlier calls of its store object that pause. */
  readonly passes?: boolean;
  /** Whether it writes again at once after a refused write, given the present document. Others then let it pass. */
  readonly isUrgent: (document: LockDocument) => boolean;
  /** Returns the answer for a call that may try again when others write first for long; without it the call fails. */
  readonly whenOutpaced?: (() => T) | undefined;
  readonly apply: (document: LockDocument, view: DocumentView, room: DocumentRoom) => Effect<T>;
}

export interface DocumentRoom {
  /** Reserves room in the document for a waiter. Throws a `StoreError` if there is too little. */
  readonly reserve: (bytes: number) => void;
  /** Reserves room in the document for another holder. Throws a `StoreError` if there is too little. */
  readonly admit: (claim: Claim) => void;
}

/** The needs of answers, the strongest first. */
const NEEDS = ["write", "proof", "read", "seen"] as const;

export type Need = typeof NEEDS[number];

export interface Effect<T> {
  /**
   * The need of the answer. *write*: the changed document. *proof*: that the document is up to date, as an accepted
   * write shows, or a refused write that returns the present content. *read*: a read that began after the call. *seen*:
   * the last seen document.
   */
  readonly needs: Need;
  /** Whether its answer would differ, or its effect grow, if the network repeated its write. */
  readonly once?: boolean | undefined;
  /** Whether it would do more if a lease or a turn were over. */
  readonly blocked?: boolean | undefined;
  /** Returns the answer, from the written document. */
  readonly answer: (written: LockDocument) => T;
}

/** A write that was sent and recorded in the document, with its effect for a call. */
interface NotedWrite {
  readonly id: string;
  readonly effect: Effect<unknown>;
  readonly document: LockDocument;
}

export interface PendingCall {
  readonly change: DocumentChange<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  retries: number;
  readonly begunAt: Instant;
  /** When it paused for the first time. */
  pausedAt: Instant | undefined;
  hasAsked: boolean;
  /** The document that was read for it, since it began. */
  read: Seen | undefined;
  /** The writes that were sent for it. One of them may have been executed although it was refused. */
  readonly sent: NotedWrite[];
}

export interface Plan {
  readonly document: LockDocument;
  readonly needs: Need;
  readonly notBefore: number | undefined;
  /** Whether the document newly gives a waiter the turn, takes a waiter's place, or revokes a lock. */
  readonly notify: boolean;
  /** The id of the only store object whose waiters can hold the lock now, if nobody else needs to know of the write. */
  readonly heir: string | undefined;
  /** Whether a lease may be over by now that was not over when the server told its time. */
  readonly mayBeOver: boolean;
  readonly now: number;
  readonly effects: readonly (readonly [PendingCall, Effect<unknown>])[];
}

/** Returns the document after the changes of calls, each after the one before. Nothing is read or written. */
export function planOf(
  seen: Seen,
  calls: readonly PendingCall[],
  view: DocumentView,
  waiters: OwnWaiters,
  maxBytes: number,
): Plan {
  const { now } = view;
  const document = seen.take();
  const before = { turn: document.turn, revoked: document.revoked };
  const mayBeOver = view.time !== undefined && Array.from(document.holders.values()).some(({ end }) => end <= now);
  const { changed, notBefore, passesOver } = tidy(document, view, waiters);
  const effects: [PendingCall, Effect<unknown>][] = [];
  const room = roomIn(seen, document, maxBytes, view.hasTimers ? TIMER_BYTES : 0);
  // One write may revoke several holders, and each is told.
  document.revoked = undefined;
  for (const call of calls) {
    try {
      effects.push([call, call.change.apply(document, view, room)]);
    } catch (error) {
      // Like other answers, the error may rest on a document that is out of date.
      const answer = () => {
        throw error;
      };
      effects.push([call, { needs: "read", answer }]);
    }
  }
  document.revoked ??= before.revoked;
  giveTurn(document, now);
  const isOther = document.turn !== before.turn;
  const isNamed = effects.some(([, { blocked }]) => blocked) && nameTimers(document, view);
  const all = effects.map(([, effect]) => effect.needs);
  const needs = changed || isOther || isNamed ? "write" : NEEDS.find((need) => all.includes(need)) ?? "seen";
  const givesTurn = document.turn !== undefined && isOther;
  const concernsAll = document.revoked !== before.revoked || passesOver;
  const heir = givesTurn && !concernsAll ? heirOf(document) : undefined;
  return { document, needs, notBefore, notify: givesTurn || concernsAll, heir, mayBeOver, now, effects };
}

/** Returns the id of the store object of the waiters that can hold a lock now, if they have the same. */
function heirOf(document: LockDocument): string | undefined {
  const [heir, ...others] = new Set(document.next(() => true).map(({ store }) => store));
  return others.length === 0 ? heir : undefined;
}

/** Returns functions that reserve room in a document for the waiters and the holders that one write adds. */
function roomIn(seen: Seen, document: LockDocument, maxBytes: number, timerBytes: number): DocumentRoom {
  const { name } = seen;
  const { holders, queue } = document;
  const growth = holders.size * (HOLDER_GROWTH_BYTES + timerBytes);
  let room: number | undefined;
  let taken = 0;
  let admitted: (() => number) | undefined;
  /** Counts the admitted holder: most writes admit only one, whose length need not be known. */
  const countAdmitted = () => {
    taken += admitted?.() ?? 0;
    admitted = undefined;
  };
  const reserve = (bytes: number) => {
    countAdmitted();
    room ??= maxBytes - seen.bytes() - RESERVED_BYTES - growth;
    if (room - taken < bytes) throw fullError(name, maxBytes, `${queue.length} waiters`);
    taken += bytes;
  };
  const admit = (claim: Claim) => {
    countAdmitted();
    const left = maxBytes - RESERVED_FOR_PRESENT_BYTES - growth - taken;
    // The claim of a waiter is in the document already.
    const isQueued = document.waiter(claim) !== undefined;
    const bytes = () =>
      HOLDER_GROWTH_BYTES + timerBytes + HOLDER_BYTES + (isQueued ? 0 : bytesOf(JSON.stringify(claim)));
    if (seen.isLongerThan(left - LONGEST_HOLDER_BYTES) && seen.isLongerThan(left - bytes())) {
      throw fullError(name, maxBytes, `${holders.size} holders and ${queue.length} waiters`);
    }
    admitted = bytes;
  };
  return { reserve, admit };
}

/** Records in a planned document the id of its write, if a call needs that. */
export function noteWrite({ effects, document }: Plan, id: () => string): void {
  if (!effects.some(([, { once }]) => once)) return;
  const write = { id: id(), document };
  document.noteWrite(write.id);
  for (const [{ sent }, effect] of effects) sent.push({ ...write, effect });
}

/** Answers the calls of a plan, from the document as written or found. */
export function settle({ effects, document }: Plan): void {
  for (const [call, effect] of effects) settleCall(call, effect, document);
}

/** Answers the calls whose refused write is in the document: the network has repeated it. Returns the others. */
export function settleWritten(calls: readonly PendingCall[], { writes }: LockDocument): readonly PendingCall[] {
  return calls.filter((call) => {
    const write = call.sent.find(({ id }) => writes.includes(id));
    if (write !== undefined) settleCall(call, write.effect, write.document);
    return write === undefined;
  });
}

function settleCall({ resolve, reject }: PendingCall, { answer }: Effect<unknown>, document: LockDocument): void {
  try {
    resolve(answer(document));
  } catch (error) {
    reject(error);
  }
}

function fullError(name: string, maxBytes: number, who: string): StoreError {
  const why = `${who} are in its document, which may have ${maxBytes} bytes`;
  return new StoreError(`Cannot acquire lock "${name}": ${why}`);
}
