import { type Instant, monotonicMs } from "../time/clock.ts";
import type { LockDocument } from "./document.ts";
import type { OwnWaiters } from "./own_waiters.ts";
import type { Period } from "./period.ts";
import type { PendingCall, Plan } from "./plan.ts";
import type { Seen } from "./seen.ts";
import type { OwnTimers } from "./timers.ts";
import type { DocumentView } from "./view.ts";

/** How often the first waiter asks about timers of leases that began unseen, in milliseconds; a long lease rarer. */
const LOOK_MS = 1_000;
const LOOKS = 30;

/** How much longer than a lease a caller must wait to see its end itself, in milliseconds. */
const WATCHED_MS = 2_000;

/** How long an answer is good enough for further calls, in milliseconds. */
const ASK_AGAIN_MS = 500;

/** The questions of one lock about timers of the server, and the calls that wait for the answers. */
export class DocumentSuccession {
  readonly #timers: OwnTimers;
  readonly #waiters: OwnWaiters;
  readonly #answered: (calls: readonly PendingCall[]) => void;
  /** The calls that wait, with the calls that came after them. */
  #waiting: PendingCall[] | undefined;
  #askedAt: Instant = { monotonic: -Infinity, wall: -Infinity };
  /** The server's answers whether timers are over, by their names; `undefined` for a timer that it does not know. */
  answers: ReadonlyMap<string, boolean | undefined> = new Map();

  /** Creates an object without questions. `answered` is called with calls that can go on. */
  constructor(timers: OwnTimers, waiters: OwnWaiters, answered: (calls: readonly PendingCall[]) => void) {
    this.#timers = timers;
    this.#waiters = waiters;
    this.#answered = answered;
  }

  get isAsking(): boolean {
    return this.#waiting !== undefined;
  }

  /** Adds a call behind the waiting calls. */
  add(call: PendingCall): void {
    this.#waiting?.push(call);
  }

  /**
   * Asks about timers for calls that leases or a turn keep from the lock, and starts timers if needed. Returns these
   * calls. Other calls, such as renewals, do not wait for the answers.
   *
   * A store object cannot know by itself whether an old period is over that it has not seen for its whole length. It
   * asks if the document names a timer for the period, or if a caller cannot watch the period for long enough.
   */
  ask({ document, effects }: Plan, view: DocumentView, now: Instant, read: Seen | undefined): readonly PendingCall[] {
    const blocked = effects.flatMap(([call, { blocked }]) => blocked && !call.hasAsked ? [call] : []);
    if (blocked.length === 0 || monotonicMs(this.#askedAt, now) < ASK_AGAIN_MS) return [];
    const queued = this.#waiters.patienceInQueue(document, view.now);
    const patience = Math.min(...blocked.map(({ change }) => change.patience ?? queued));
    const old = view.oldPeriods(document);
    const hasty = old.filter((period) => isTooShort(patience, view, period));
    if (hasty.length === 0 && old.every(({ timer }) => timer === undefined)) return [];
    for (const call of blocked) Object.assign(call, { hasAsked: true, read });
    this.#askedAt = now;
    if (this.#waiting !== undefined) this.#waiting.push(...blocked);
    else {
      this.#waiting = [...blocked];
      void this.#settle(old.flatMap(({ timer }) => timer ?? []), hasty);
    }
    return blocked;
  }

  /** Asks, starts the timers that are missing, and gives the calls back; also when the server is late. */
  async #settle(timers: readonly string[], hasty: readonly Period[]): Promise<void> {
    const answers = this.answers = await this.#timers.areOver(timers);
    const lacking = hasty.filter(({ timer }) => timer === undefined || answers.get(timer) === undefined);
    await this.#timers.provide(lacking.map(({ ms }) => ms));
    const waiting = this.#waiting!;
    this.#waiting = undefined;
    this.#answered(waiting);
  }
}

/** Returns whether a `patience` does not last until a period is over for a store object that watches it. */
function isTooShort(patience: number, view: DocumentView, period: Period): boolean {
  return patience < view.left(period) + WATCHED_MS;
}

/**
 * Returns how long a store object may go without checking the timers, in milliseconds: the longer the more others wait
 * `ahead`, unless its `patience` is too short to see a lease to its end.
 */
export function untilNextLook(document: LockDocument, view: DocumentView, patience: number, ahead: number): number {
  const old = view.oldPeriods(document);
  const isHasty = old.some((period) => isTooShort(patience, view, period));
  return Math.min(...old.map(({ ms }) => (isHasty ? 1 : 1 + ahead) * Math.max(LOOK_MS, ms / LOOKS)));
}
