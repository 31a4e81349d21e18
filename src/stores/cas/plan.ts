import { StoreError } from "../../errors.ts";
import type { Instant } from "../../internal/time/clock.ts";
import type { Claim } from "../../store.ts";
import type { LockDocument } from "./document.ts";
import { bytesOf, type Sighting } from "./sighting.ts";
import { type DocumentView, giveTurn, tidy } from "./tidy.ts";

/** How many bytes of a document are kept for holders, and how many of them for those that are there. */
const RESERVED_BYTES = 4_096;
const RESERVED_FOR_PRESENT_BYTES = 1_024;

/** By how many bytes a holder may become longer, with the number of a renewal and more digits, and a waiter by a roll call. */
const HOLDER_GROWTH_BYTES = 40;
const WAITER_GROWTH_BYTES = 16;

/** How many bytes a holder takes beside its claim, and how many with the longest one. */
const HOLDER_BYTES = 200;
const LONGEST_HOLDER_BYTES = 8_192;

/** What a call does with a document. */
export interface DocumentChange<T> {
  /** Whether its handle does not wait, so that it cannot watch for how long a document stays as it is. */
  readonly cannotWatch?: boolean;
  /** Whether it writes again at once after a refused write, given what is there instead. */
  readonly isUrgent: (document: LockDocument) => boolean;
  /** Changes the document. */
  readonly apply: (document: LockDocument, moment: Moment) => Effect<T>;
}

/** The moment of a change. */
export interface Moment {
  /** The clock for what is written, in milliseconds since the Unix epoch. */
  readonly now: number;
  /** The same, no later than the server's clock: no fence may be far ahead of that. */
  readonly least: number;
  /** Takes room in the document for a waiter. Throws a `StoreError` if there is too little. */
  readonly reserve: (bytes: number) => void;
  /** Takes room in the document for another holder. Throws a `StoreError` if there is too little. */
  readonly admit: (claim: Claim) => void;
}

/** What answers may need, the most first. */
const NEEDS = ["write", "proof", "read", "sight"] as const;

/** What an answer needs. */
export type Need = typeof NEEDS[number];

/** What a change has done. */
export interface Effect<T> {
  /**
   * What the answer needs: *write*: the changed document. *proof*: that the document was the present one, which an accepted
   * write shows, or a refused one that says what is there. *read*: only what was read after the call began. *sight*: what was
   * seen last.
   */
  readonly needs: Need;
  /** Returns the answer, from the document as it was written. */
  readonly answer: (written: LockDocument) => T;
}

/** A call that waits for its answer. */
export interface PendingCall {
  readonly change: DocumentChange<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  retries: number;
  /** When it paused for the first time. */
  pausedAt: Instant | undefined;
}

/** What a document becomes, and what the calls are answered then. */
export interface Plan {
  readonly document: LockDocument;
  readonly needs: Need;
  readonly notBefore: number | undefined;
  /** Whether the document gives a waiter the turn, revokes a lock, or calls the roll, which it did not before. */
  readonly notify: boolean;
  /** Whether a lease may be over by now that was not when the server told its time. */
  readonly mayBeOver: boolean;
  readonly now: number;
  /** The calls, with what each has done. */
  readonly effects: readonly (readonly [PendingCall, Effect<unknown>])[];
}

/**
 * Returns what a document becomes when calls change it, each after the one before. Nothing is read or written.
 *
 * @param view how the store object sees the document now
 */
export function planOf(
  name: string,
  seen: Sighting,
  calls: readonly PendingCall[],
  view: DocumentView,
  maxBytes: number,
): Plan {
  const { now, least } = view;
  const document = seen.take();
  const before = { turn: document.turn, revoked: document.revoked, roll: document.rollCall.number };
  const mayBeOver = view.time !== undefined && Array.from(document.holders.values()).some(({ end }) => end <= now);
  const { changed, notBefore } = tidy(document, view);
  const effects: [PendingCall, Effect<unknown>][] = [];
  const room = roomIn(name, seen, document, maxBytes);
  for (const call of calls) {
    try {
      effects.push([call, call.change.apply(document, { now, least, ...room })]);
    } catch (error) {
      // As with other answers, what it rests on may be out of date.
      const answer = () => {
        throw error;
      };
      effects.push([call, { needs: "read", answer }]);
    }
  }
  giveTurn(document, now);
  const isOther = document.turn !== before.turn;
  const all = effects.map(([, effect]) => effect.needs);
  const needs = changed || isOther ? "write" : NEEDS.find((need) => all.includes(need)) ?? "sight";
  const notify = document.turn !== undefined && isOther || document.revoked !== before.revoked ||
    document.rollCall.number !== before.roll;
  return { document, needs, notBefore, notify, mayBeOver, now, effects };
}

/** Returns what takes room in a document for the waiters and the holders that one write adds. */
function roomIn(
  name: string,
  seen: Sighting,
  document: LockDocument,
  maxBytes: number,
): Pick<Moment, "reserve" | "admit"> {
  const { holders, queue } = document;
  const growth = holders.size * HOLDER_GROWTH_BYTES;
  let room: number | undefined;
  let taken = 0;
  let admitted: (() => number) | undefined;
  /** Most writes admit one holder, whose length nobody has to know. */
  const countAdmitted = () => {
    taken += admitted?.() ?? 0;
    admitted = undefined;
  };
  const reserve = (bytes: number) => {
    countAdmitted();
    room ??= maxBytes - seen.bytes() - RESERVED_BYTES - growth - queue.length * WAITER_GROWTH_BYTES;
    if (room - taken < bytes) throw fullError(name, maxBytes, `${queue.length} waiters`);
    taken += bytes + WAITER_GROWTH_BYTES;
  };
  const admit = (claim: Claim) => {
    countAdmitted();
    const left = maxBytes - RESERVED_FOR_PRESENT_BYTES - growth - taken;
    // The claim of a waiter is in the document already.
    const isQueued = document.waiter(claim) !== undefined;
    const bytes = () => HOLDER_GROWTH_BYTES + HOLDER_BYTES + (isQueued ? 0 : bytesOf(JSON.stringify(claim)));
    if (seen.isLongerThan(left - LONGEST_HOLDER_BYTES) && seen.isLongerThan(left - bytes())) {
      throw fullError(name, maxBytes, `${holders.size} holders and ${queue.length} waiters`);
    }
    admitted = bytes;
  };
  return { reserve, admit };
}

/** Answers the calls of a plan, from the document as it was written or found. */
export function settle({ effects, document }: Plan): void {
  for (const [{ resolve, reject }, { answer }] of effects) {
    try {
      resolve(answer(document));
    } catch (error) {
      reject(error);
    }
  }
}

function fullError(name: string, maxBytes: number, who: string): StoreError {
  const why = `${who} are in its document, which may have ${maxBytes} bytes`;
  return new StoreError(`Cannot acquire lock "${name}": ${why}`);
}
