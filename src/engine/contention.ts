import { StoreError } from "../contract/errors.ts";
import { backoffMs, type Clock, type Instant, monotonicMs } from "../time/clock.ts";
import type { LockDocument } from "./document.ts";
import type { PendingCall } from "./plan.ts";

/** The first pause of a call whose write was refused, in milliseconds. */
const FIRST_PAUSE_MS = 10;

/**
 * The longest pause: this many trips, as each accepted write takes one trip, and within these limits, in milliseconds.
 * With longer pauses some members of a crowd would come last each time.
 */
const LONGEST_PAUSE_TRIPS = 8;
const LONGEST_PAUSE_MS = [250, 2_000] as const;

/** How many handles may enter the queue in a row. */
const IN_A_ROW = 4;

/** For how many trips others wait after a handle has entered the queue: a refused write comes again. */
const YIELDED_TRIPS = 1.5;
const LONGEST_YIELD_MS = 500;

/**
 * For how long the writes of a call are refused at most, in milliseconds. A waiter is then told to try again, sooner
 * than its caller takes it for failed: its time counts from the beginning of the call.
 */
const LONGEST_MS = 10_000;
const LONGEST_WAITING_MS = 5_000;

/** How often a call writes again without a pause. */
const AT_ONCE = 20;

/** The calls of one lock whose writes were refused, because others had written first. */
export class DocumentContention {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #goOn: (calls: readonly PendingCall[]) => void;
  /** How often in a row calls have paused since an accepted write. */
  #pauses = 0;
  /** Whether the last refused write has only shown that the known content was out of date. */
  #hasLooked = false;
  /** The calls that pause, in their order, and the controller that ends the pause. */
  #pausing: { readonly calls: readonly PendingCall[]; readonly over: AbortController } | undefined;

  /** Creates the state without a pause. `goOn` is called with calls whose pause is over. */
  constructor(
    name: string,
    { clock, random }: { readonly clock: Clock; readonly random: () => number },
    goOn: (calls: readonly PendingCall[]) => void,
  ) {
    this.#name = name;
    this.#clock = clock;
    this.#random = random;
    this.#goOn = goOn;
  }

  get isPausing(): boolean {
    return this.#pausing !== undefined;
  }

  resume(): void {
    if (this.#pausing === undefined) return;
    const { calls, over } = this.#pausing;
    over.abort("over");
    this.#pausing = undefined;
    this.#goOn(calls);
  }

  accepted(): void {
    this.#pauses = 0;
    this.#hasLooked = false;
  }

  /**
   * Records a refused write. Returns the calls that write again at once. The other calls pause, and keep their order.
   *
   * @param outdated whether the overwritten content may have been out of date
   */
  refused(
    calls: readonly PendingCall[],
    document: LockDocument,
    sentAt: Instant,
    outdated: boolean,
  ): readonly PendingCall[] {
    const now = this.#clock.now();
    const trip = monotonicMs(sentAt, now);
    // After a pause, the first write only shows that the known content is out of date.
    const looks = outdated && !this.#hasLooked;
    this.#hasLooked = looks;
    const yields = yieldMs(document, trip);
    if (looks && yields === 0) return calls;
    for (const call of calls) {
      call.retries++;
      call.pausedAt ??= now;
    }
    const isUrgent = ({ retries, change }: PendingCall) => retries <= AT_ONCE && change.isUrgent(document);
    const urgent = calls.filter(isUrgent);
    if (urgent.length === calls.length || urgent.some(({ change }) => !change.passes)) return calls;
    const ms = looks ? yields : yields + this.#random() * pauseMs(this.#pauses++, trip);
    const over = new AbortController();
    this.#pausing?.over.abort("longer");
    this.#pausing = { calls: [...this.#pausing?.calls ?? [], ...calls.filter((call) => !isUrgent(call))], over };
    void this.#clock.sleep(ms, over.signal).then(() => {
      if (this.#pausing?.over === over) this.resume();
    });
    return urgent;
  }

  /** Returns the calls that may write again. Ends the calls whose writes have been refused for too long. */
  patient(calls: readonly PendingCall[]): readonly PendingCall[] {
    if (calls.every(({ pausedAt }) => pausedAt === undefined)) return calls;
    const now = this.#clock.now();
    return calls.filter(({ change: { whenOutpaced }, begunAt, pausedAt, retries, resolve, reject }) => {
      if (pausedAt === undefined) return true;
      const [since, longest] = whenOutpaced === undefined ? [pausedAt, LONGEST_MS] : [begunAt, LONGEST_WAITING_MS];
      if (monotonicMs(since, now) <= longest) return true;
      if (whenOutpaced !== undefined) resolve(whenOutpaced());
      else reject(outpacedError(this.#name, retries, longest));
      return false;
    });
  }
}

/** Returns whether a handle writes before others: it holds the lock, or has the turn. */
export function isFirst(handle: string, { turn, holders }: LockDocument): boolean {
  return turn?.handle === handle || holders.has(handle);
}

/** Returns the longest pause of a call after `pauses` pauses, where a request takes `trip` milliseconds. */
function pauseMs(pauses: number, trip: number): number {
  const [least, most] = LONGEST_PAUSE_MS;
  return backoffMs(pauses, FIRST_PAUSE_MS, Math.min(Math.max(least, LONGEST_PAUSE_TRIPS * trip), most));
}

/**
 * Returns how long others do not write, in milliseconds: after another handle has entered the queue, until the handles
 * with precedence have written. So an entering crowd refuses their writes once, not again and again.
 */
function yieldMs({ queue, counter }: LockDocument, trip: number): number {
  return queue.at(-1)?.ticket === counter && counter % IN_A_ROW === 0
    ? Math.min(YIELDED_TRIPS * trip, LONGEST_YIELD_MS)
    : 0;
}

/** Returns the error of a call whose writes were refused `times` times within `ms` milliseconds. */
function outpacedError(name: string, times: number, ms: number): StoreError {
  const why = `others wrote it first, ${times} times within ${ms} ms`;
  return new StoreError(`Cannot write the document of lock "${name}": ${why}`);
}
