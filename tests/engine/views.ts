import type { Claim } from "@holdfast/lock";
import type { FoundDocument } from "../../src/engine/mod.ts";
import { formatDocument, LockDocument } from "../../src/engine/document.ts";
import type { DocumentChange, PendingCall } from "../../src/engine/plan.ts";
import { OwnWaiters } from "../../src/engine/own_waiters.ts";
import { Seen } from "../../src/engine/seen.ts";
import { DocumentView, type ViewOptions } from "../../src/engine/view.ts";
import type { Instant } from "../../src/time/clock.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { NAME } from "./controlled_backend.ts";

/** The moment of these tests. */
export const NOW: Instant = { monotonic: 1_000, wall: 1_700_000_000_000 };

/** Returns the moment at which the clocks have moved on by so much. */
export function later(monotonic: number, wall: number = monotonic): Instant {
  return { monotonic: NOW.monotonic + monotonic, wall: NOW.wall + wall };
}

/** Returns how a store object sees a document so many milliseconds after it was read; by default one without timers. */
export function viewOf(seen: Seen, ms = 0, changed: Partial<ViewOptions> = {}): DocumentView {
  return new DocumentView(seen, later(ms), { skew: 0, cannotWatch: false, answers: new Map(), ...changed });
}

/** Returns the waiters of the store object "me", each of which is alive. */
export function waitersOfMe(): OwnWaiters {
  return Object.assign(new OwnWaiters(new VirtualClock(), "me"), { owns: () => true });
}

/** Returns a document as it was just read, after a function has made it what it is. */
export function found(make?: (document: LockDocument) => void, time?: number): Seen {
  const document = new LockDocument();
  document.fence = 1n;
  make?.(document);
  const read: FoundDocument = { value: formatDocument(NAME, document), version: 1, time };
  return new Seen(NAME, read, { sentAt: NOW, receivedAt: NOW });
}

/** Puts a waiter of a store object into the queue, behind those that are in it. */
export function queueIn(document: LockDocument, claim: Claim, store: string): void {
  document.enqueue({ claim, ticket: ++document.counter, queuedAt: NOW.wall, store });
}

/** A call, and how it ended. */
export interface Called {
  readonly call: PendingCall;
  readonly ends: unknown[];
}

/** Returns a call that does something with a document. */
export function callOf(
  apply: DocumentChange<unknown>["apply"],
  changed: Partial<DocumentChange<unknown>> = {},
): Called {
  const ends: unknown[] = [];
  const call: PendingCall = {
    change: { isUrgent: () => false, apply, ...changed },
    resolve: (value) => ends.push(value),
    reject: (error) => ends.push(error),
    retries: 0,
    begunAt: NOW,
    pausedAt: undefined,
    hasAsked: false,
    read: undefined,
    sent: [],
  };
  return { call, ends };
}
