import type { Backend, WatchedDocument } from "./backend.ts";
import type { CasLock } from "./lock.ts";
import { calledOrAborted } from "../../internal/time/aborted.ts";
import type { Clock } from "../../internal/time/clock.ts";
import { backoffMs } from "../../internal/time/backoff.ts";
import type { DocumentChange } from "./plan.ts";
import type { Sighting } from "./sighting.ts";
import { leaseLeft, rollCallLeft, turnLeft } from "./tidy.ts";

/** How often a document is read that waiters wait for, in milliseconds: with a backend that watches, and without. */
const LOOK_MS = 5_000;
const FIRST_POLL_MS = 50;
const LONGEST_POLL_MS = 500;

/**
 * The same where only holders watch for revocation, which the next renewal finds out as well; and at least so much for each
 * lock of the store object: renewals must not wait behind the reads of thousands.
 */
const REVOCATION_POLL_MS = 1_000;
const EACH_MS = 10;

/** The shortest time between two reads, in milliseconds. */
const LEAST_MS = 20;

/** Changes nothing but what is over, and what the read finds wakes the waiters. */
export const LOOK: DocumentChange<void> = {
  isUrgent: () => false,
  apply: () => ({ needs: "read", answer: () => {} }),
};

/** The same, after the document that a watch has found was noted. */
const GLANCE: DocumentChange<void> = {
  isUrgent: () => false,
  apply: () => ({ needs: "sight", answer: () => {} }),
};

/** How the backend's watch has ended. */
interface WatchEnd {
  readonly failed: boolean;
  /** The present document, if the watch has brought it. */
  readonly found?: WatchedDocument | undefined;
}

/**
 * Looks at the document of a lock for as long as somebody wants it: when the backend says that it has changed, when a lease
 * or a turn in it is over, and now and then.
 */
export class Watcher {
  readonly #lock: CasLock;
  readonly #backend: Backend;
  readonly #clock: Clock;
  /** Whether somebody wants it. */
  readonly #isWanted: () => boolean;
  /** The watchers of the store object that look. */
  readonly #looking: Set<Watcher>;
  /** Ends the present pause. */
  #pause: AbortController | undefined;
  /** Whether nobody waited when it began. */
  #isLong = false;
  /** How often the same version was read in a row. */
  #idle = 0;
  /** How many watches in a row have ended although nothing was found to have changed. */
  #vain = 0;

  constructor(lock: CasLock, backend: Backend, clock: Clock, looking: Set<Watcher>, isWanted: () => boolean) {
    this.#lock = lock;
    this.#backend = backend;
    this.#clock = clock;
    this.#looking = looking;
    this.#isWanted = isWanted;
  }

  /** Begins to look, or stops if nobody wants it. */
  update(): void {
    if (!this.#isWanted()) this.#pause?.abort("unwanted");
    else if (!this.#looking.has(this)) void this.#run();
    else if (this.#isLong && this.#hasWaiters) this.#pause?.abort("shorter");
  }

  /** Notes that this store object has itself read or written the document: that is as good as a look. */
  seen(): void {
    this.#pause?.abort("seen");
  }

  async #run(): Promise<void> {
    this.#looking.add(this);
    while (this.#isWanted()) {
      const { last } = this.#lock;
      const begunAt = this.#clock.now();
      const pause = await this.#wait(last);
      if (last?.version !== this.#lock.last?.version) this.#vain = 0;
      if (pause === undefined || !this.#isWanted() || last !== this.#lock.last) continue;
      const { watchEnd } = pause;
      try {
        const isTold = watchEnd?.found !== undefined && this.#lock.watched(last!, watchEnd.found, begunAt, LOOK_MS);
        await this.#lock.change(isTold ? GLANCE : LOOK);
        this.#idle = this.#lock.last?.version === last?.version ? this.#idle + 1 : 0;
      } catch {
        // They attempt, and find the fault.
        this.#lock.waiters.wakeAll();
        this.#idle = Infinity;
      }
      this.#vain = watchEnd !== undefined && this.#idle > 0 ? this.#vain + 1 : 0;
    }
    this.#looking.delete(this);
  }

  /**
   * Waits until the document may have changed, or is to be looked at. Resolves to how the backend's watch has ended, if it
   * has; to `undefined` if the pause was ended.
   */
  async #wait(last: Sighting | undefined): Promise<{ readonly watchEnd: WatchEnd | undefined } | undefined> {
    const pause = new AbortController();
    this.#pause = pause;
    this.#isLong = !this.#hasWaiters;
    let watchEnd: WatchEnd | undefined;
    await calledOrAborted(pause.signal, (look) => {
      const timers = [this.#clock.timer(this.#lookIn(last), () => look())];
      let over = false;
      if (last !== undefined && this.#backend.watch !== undefined) {
        void this.#watch(last, pause.signal).then((end) => {
          if (over) return;
          watchEnd = end;
          if (!end.failed && this.#vain === 0) look();
          else timers.push(this.#clock.timer(backoffMs(this.#vain, FIRST_POLL_MS, LONGEST_POLL_MS), () => look()));
        });
      }
      return () => {
        over = true;
        for (const timer of timers) timer.cancel();
      };
    });
    const wasEnded = pause.signal.aborted;
    pause.abort("over");
    this.#pause = undefined;
    return wasEnded ? undefined : { watchEnd };
  }

  /** Resolves when the backend's watch ends. */
  async #watch({ version }: Sighting, signal: AbortSignal): Promise<WatchEnd> {
    try {
      return { failed: false, found: await this.#backend.watch!(this.#lock.name, version, signal) ?? undefined };
    } catch {
      return { failed: true };
    }
  }

  get #hasWaiters(): boolean {
    return this.#lock.waiters.sleeping.length > 0;
  }

  /** The time between two looks where nobody waits, in milliseconds, however they end. */
  get #revocationPollMs(): number {
    const poll = this.#backend.watch === undefined ? REVOCATION_POLL_MS : LOOK_MS;
    return Math.max(poll, this.#looking.size * EACH_MS);
  }

  /** The longest time between two looks where somebody waits, in milliseconds. */
  get #pollMs(): number {
    if (this.#backend.watch !== undefined) return LOOK_MS;
    return backoffMs(this.#idle, FIRST_POLL_MS, LONGEST_POLL_MS);
  }

  /** Returns in how many milliseconds the document is to be looked at, whether it has changed or not. */
  #lookIn(last: Sighting | undefined): number {
    if (!this.#hasWaiters) return this.#revocationPollMs;
    if (this.#idle === Infinity) return LONGEST_POLL_MS;
    const view = this.#lock.present;
    if (last === undefined || view === undefined) return LEAST_MS;
    const { holders, turn, rollCall, queue } = last.document;
    const left = Array.from(holders.values(), (holder) => leaseLeft(holder, view));
    if (turn !== undefined) left.push(turnLeft(turn, view));
    if (queue.some(({ roll }) => roll < rollCall.number)) left.push(rollCallLeft(rollCall, view));
    return Math.min(this.#pollMs, ...left.map((ms) => Math.max(ms, LEAST_MS)));
  }
}
