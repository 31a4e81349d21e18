import { drift } from "../contract/store.ts";
import { LATE, within } from "../contract/release.ts";
import { aborted } from "../time/aborted.ts";
import { type Clock, elapsed, type Instant } from "../time/clock.ts";
import type { Backend, ServerTimers } from "./backend.ts";
import { warnOfRefusal } from "./refusal.ts";

/** How long a request about timers may take, in milliseconds. */
const ANSWER_MS = 2_000;

/** How long a timer of a holder runs, in leases: it serves all locks of the process for half a lease. */
const HELD = 1.5;

/** By how much a caller's timer is longer than the lease: for the trip and the drift. */
const SPARE = { part: 0.1, leastMs: 500 } as const;

/** A confirmed timer that this store object has started. */
interface OwnTimer {
  readonly name: string;
  readonly sentAt: Instant;
  readonly ms: number;
}

interface Start {
  readonly over: AbortController;
  /** The handles that hold locks with this lease. Without any, the timer is not needed. */
  readonly wantedBy: Set<string>;
}

/**
 * The timers of one store object. No timer is prolonged: a server may renew a timer in the memory of one machine, and
 * therefore end it early. A name is given out only once the server has confirmed the timer.
 */
export class OwnTimers {
  readonly #backend: Pick<Backend, "closed">;
  readonly #timers: ServerTimers;
  readonly #clock: Clock;
  #running: readonly OwnTimer[] = [];
  /** The starting timers of holders, by the lease. */
  readonly #starts = new Map<number, Start>();

  constructor(backend: Pick<Backend, "closed">, timers: ServerTimers, clock: Clock) {
    this.#backend = backend;
    this.#timers = timers;
    this.#clock = clock;
  }

  /** Returns the name of a timer that runs for at least `ms` milliseconds from now on, and not for much longer. */
  lasting(ms: number, now: Instant): string | undefined {
    this.#running = this.#running.filter((timer) => leftOf(timer, now) > 0);
    return this.#running.find((timer) => {
      const left = leftOf(timer, now);
      return left >= ms && left <= Math.max(HELD * ms, withSpare(ms));
    })?.name;
  }

  /**
   * Starts a timer for a handle that holds a lock, unless one lasts for its lease. No call waits for the timer: a late
   * timer must not delay a renewal.
   */
  keep(handle: string, lease: number): void {
    if (this.lasting(lease, this.#clock.now()) !== undefined) return;
    const known = this.#starts.get(lease);
    if (known !== undefined) return void known.wantedBy.add(handle);
    const start: Start = { over: new AbortController(), wantedBy: new Set([handle]) };
    this.#starts.set(lease, start);
    void this.#start(HELD * lease, start.over).then(() => {
      if (this.#starts.get(lease) === start) this.#starts.delete(lease);
    });
  }

  /** Ends the work begun for a handle that no longer holds its lock: after the last lock nothing runs. */
  drop(handle: string): void {
    for (const [lease, { over, wantedBy }] of this.#starts) {
      if (!wantedBy.delete(handle) || wantedBy.size > 0) continue;
      this.#starts.delete(lease);
      over.abort();
    }
  }

  /** Resolves when there are timers of these lengths in milliseconds, or they could not be started. */
  async provide(all: readonly number[]): Promise<void> {
    const now = this.#clock.now();
    const lacking = new Set(all.filter((ms) => this.lasting(ms, now) === undefined));
    await Promise.all(Array.from(lacking, (ms) => this.#start(withSpare(ms), new AbortController())));
  }

  /** Resolves to whether timers are over, by their names; `undefined` for a timer that the server does not know. */
  async areOver(names: readonly string[]): Promise<ReadonlyMap<string, boolean | undefined>> {
    if (names.length === 0) return new Map();
    try {
      const answers = await within(ANSWER_MS, this.#timers.areOver(names), this.#clock);
      return new Map(names.map((name, i) => [name, answers[i]]));
    } catch (error) {
      this.#warn(error);
      return new Map(names.map((name) => [name, false]));
    }
  }

  async #start(ms: number, over: AbortController): Promise<void> {
    const sentAt = this.#clock.now();
    try {
      // A backend may be unable to cancel a request.
      const started = Promise.race([this.#timers.start(ms, over.signal), aborted(over.signal)]);
      const name = await within(ANSWER_MS, started, this.#clock, sentAt);
      if (name !== undefined) this.#running = [...this.#running, { name, sentAt, ms }];
    } catch (error) {
      if (error === LATE) over.abort();
      else this.#warn(error);
    }
  }

  /** Warns once of a missing right: the lock of a dead holder would stay held for callers with short waits. */
  #warn(error: unknown): void {
    const what = "Callers that wait for less than a lease do not succeed dead holders";
    warnOfRefusal("timers", what, error, this.#backend);
  }
}

/** Returns for how many milliseconds a timer still runs at least, by the clock that has moved further. */
function leftOf({ sentAt, ms }: OwnTimer, now: Instant): number {
  return ms - elapsed(sentAt, now) - drift(ms);
}

function withSpare(ms: number): number {
  return ms + Math.max(SPARE.leastMs, SPARE.part * ms);
}
