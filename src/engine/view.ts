import type { Instant } from "../time/clock.ts";
import type { LockDocument } from "./document.ts";
import { type Period, periodsOf } from "./period.ts";
import type { Seen } from "./seen.ts";

/** The input of a view, beside the seen document. */
export interface ViewOptions {
  /** The server's clock; its time at the last answer when left out. */
  readonly time?: number | undefined;
  /** How long a lease or a turn lasts for others after its end by the clock, in milliseconds. */
  readonly skew: number;
  /** Whether the call cannot watch: without a server's clock, the written end of a period then counts as well. */
  readonly cannotWatch: boolean;
  /** The server's answers whether timers are over, by their names; `undefined` for a timer that it does not know. */
  readonly answers: ReadonlyMap<string, boolean | undefined>;
  /** Returns a timer of the store object that lasts for `ms` milliseconds, if any, where the server has timers. */
  readonly timerFor?: ((ms: number) => string | undefined) | undefined;
}

/** A store object's view of a lock at one moment: which leases and turns are over. */
export class DocumentView {
  /** The present moment for written times, in milliseconds since the Unix epoch: never before the server's clock. */
  readonly now: number;
  /** The same moment, but no later than the server's clock: no fence may be far ahead of it. */
  readonly least: number;
  /** The server's clock, as far as known; `undefined` where the server has none. */
  readonly time: number | undefined;
  readonly skew: number;
  readonly #seen: Seen;
  readonly #at: Instant;
  readonly #options: ViewOptions;

  constructor(seen: Seen, at: Instant, options: ViewOptions) {
    this.now = seen.latest(at);
    this.least = seen.earliest(at) ?? this.now;
    this.time = options.time ?? seen.time;
    this.skew = options.skew;
    this.#seen = seen;
    this.#at = at;
    this.#options = options;
  }

  get hasTimers(): boolean {
    return this.#options.timerFor !== undefined;
  }

  /** Returns a timer of the server for a lease or a turn that begins now, if any. */
  timerFor(ms: number): string | undefined {
    return this.#options.timerFor?.(ms);
  }

  /**
   * Returns how many milliseconds are left until the store object may declare a lease or a turn over, as far as it
   * knows at present: when it has seen the period for its whole length, or when the end is past by the server's clock.
   * Without a server's clock, a store object that cannot watch needs the end to be past by more than its clock and the
   * writer's may differ. A timer of the server that is over ends the period in any case.
   */
  left(period: Period): number {
    const { ms, end, timer } = period;
    if (timer !== undefined && this.#options.answers.get(timer) === true) return 0;
    // The server's clock may have been set back since: a period that was seen for its whole length is over as well.
    const unseen = ms - this.#seen.seenFor(period, this.#at);
    if (this.time !== undefined) return Math.min(unseen, end + this.skew - this.time);
    return this.#options.cannotWatch ? Math.min(unseen, end + this.skew - this.now) : unseen;
  }

  /** Returns whether a lease or a turn may have begun so long ago that it is over. */
  isOld(period: Period): boolean {
    return this.#seen.ageAtMost(period, this.#at) >= period.ms;
  }

  /**
   * Returns the timer that is named for a lease or a turn, unless the server has said that it does not know the timer.
   */
  timerOf({ timer }: Period): string | undefined {
    const { answers } = this.#options;
    const isUnknown = timer !== undefined && answers.has(timer) && answers.get(timer) === undefined;
    return isUnknown ? undefined : timer;
  }

  /** Returns the leases and the turn that began so long ago that they may be over, with their known timers. */
  oldPeriods(document: LockDocument): Period[] {
    const old = periodsOf(document).filter((period) => this.isOld(period));
    return old.map((period) => ({ ...period, timer: this.timerOf(period) }));
  }
}
