import type { Backend, WatchedDocument } from "./backend.ts";
import type { CasLock } from "./lock.ts";
import { warnOnce } from "../internal/process/warning.ts";
import { reason } from "../internal/reason.ts";
import { calledOrAborted } from "../time/aborted.ts";
import { backoffMs, type Clock } from "../time/clock.ts";
import { periodsOf } from "./period.ts";
import type { DocumentChange } from "./plan.ts";
import type { Seen } from "./seen.ts";

/** How often to read a document with waiters, in milliseconds: with a backend that watches, and without. */
const LOOK_MS = 5_000;
const FIRST_POLL_MS = 50;
const LONGEST_POLL_MS = 500;

/**
 * How often to read a document for holders that watch for revocation, which the next renewal detects as well; and the
 * least time for each lock of the store object: renewals must not wait behind the reads of thousands.
 */
const REVOCATION_POLL_MS = 1_000;
const EACH_MS = 10;

/** The shortest time between two reads, and between two waiters when a lease or a turn is over, in milliseconds. */
const LEAST_MS = 20;

/** After how many failed watches in a row the process is warned: connections that are cut now and then fail a few. */
const UNWATCHED = 10;

/**
 * Returns a change that removes only expired parts of the document. The document that was read wakes the waiters. With
 * `"seen"` the result of a watch, once recorded, takes the place of the read.
 */
export function look(needs: "read" | "seen" = "read"): DocumentChange<void> {
  return {
    passes: true,
    // Expired parts keep others waiting. Once another store object has removed them, nothing is left to write.
    isUrgent: () => true,
    apply: () => ({ needs, blocked: needs === "read", answer: () => {} }),
  };
}

interface WatchEnd {
  readonly failed: boolean;
  readonly fault?: unknown;
  /** The present document, if the watch has returned it. */
  readonly found?: WatchedDocument | undefined;
}

/**
 * Reads the document of a lock while there are waiters or watching holders: when the backend reports a change, when a
 * lease or a turn in it is over, and at intervals.
 */
export class Watcher {
  readonly #lock: CasLock;
  readonly #backend: Backend;
  readonly #clock: Clock;
  /** Whether the lock has waiters or watching holders. */
  readonly #isWanted: () => boolean;
  /** The watchers of this store that run now: the more there are, the more rarely each polls. */
  readonly #looking: Set<Watcher>;
  /** Ends the present pause. */
  #pause: AbortController | undefined;
  /** Whether there were no waiters when the watch began. */
  #isLong = false;
  /** How often in a row the same version was read. */
  #idle = 0;
  /** How many watches in a row have ended although no change was found. */
  #vain = 0;
  /** How many watches for waiters in a row have failed, although the store answered after each of them. */
  #unwatched = 0;

  constructor(lock: CasLock, backend: Backend, clock: Clock, looking: Set<Watcher>, isWanted: () => boolean) {
    this.#lock = lock;
    this.#backend = backend;
    this.#clock = clock;
    this.#looking = looking;
    this.#isWanted = isWanted;
  }

  update(): void {
    if (!this.#isWanted()) this.#pause?.abort("unwanted");
    else if (!this.#looking.has(this)) void this.#run();
    else if (this.#isLong && this.#hasWaiters) this.#pause?.abort("shorter");
  }

  /** Records that this store object has read or written the document itself, which replaces a read of the watcher. */
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
        await this.#lock.change(look(isTold ? "seen" : "read"));
        this.#idle = this.#lock.last?.version === last?.version ? this.#idle + 1 : 0;
        if (watchEnd !== undefined) this.#noteEnd(watchEnd);
      } catch {
        // The waiters attempt, and find the fault.
        this.#lock.waiters.wakeAll();
        this.#idle = Infinity;
      }
      this.#vain = watchEnd !== undefined && this.#idle > 0 ? this.#vain + 1 : 0;
    }
    this.#looking.delete(this);
  }

  /**
   * Waits until the document may have changed, or a read is due. Resolves to the end of the backend's watch, if it has
   * ended; to `undefined` if the pause was ended.
   */
  async #wait(last: Seen | undefined): Promise<{ readonly watchEnd: WatchEnd | undefined } | undefined> {
    const pause = new AbortController();
    this.#pause = pause;
    this.#isLong = !this.#hasWaiters;
    let watchEnd: WatchEnd | undefined;
    await calledOrAborted(pause.signal, (end) => {
      const timers = [this.#clock.timer(this.#lookIn(last), () => end())];
      let over = false;
      if (last !== undefined && this.#backend.watch !== undefined) {
        void this.#watch(last, pause.signal).then((ended) => {
          if (over) return;
          watchEnd = ended;
          if (!ended.failed && this.#vain === 0) end();
          else timers.push(this.#clock.timer(this.#unwatchedPollMs, () => end()));
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

  /** Records how a watch has ended after which the store has answered: a fault is then the fault of watches. */
  #noteEnd({ failed, fault }: WatchEnd): void {
    this.#unwatched = failed && !this.#isLong ? this.#unwatched + 1 : 0;
    if (this.#unwatched < UNWATCHED) return;
    warnOnce("watch", `Waiters poll, since the store does not notify them: ${reason(fault)}`);
  }

  async #watch({ version }: Seen, signal: AbortSignal): Promise<WatchEnd> {
    try {
      const options = { isWaited: !this.#isLong, store: this.#lock.waiters.store };
      const found = await this.#backend.watch!(this.#lock.name, version, signal, options) ?? undefined;
      return { failed: false, found };
    } catch (fault) {
      return { failed: true, fault };
    }
  }

  get #hasWaiters(): boolean {
    return this.#lock.waiters.sleeping.length > 0;
  }

  /** How long after a failed or useless watch the document is read, in milliseconds. */
  get #unwatchedPollMs(): number {
    if (this.#isLong) return this.#forEachLock(REVOCATION_POLL_MS);
    return backoffMs(this.#vain, FIRST_POLL_MS, LONGEST_POLL_MS);
  }

  #forEachLock(leastMs: number): number {
    return Math.max(leastMs, this.#looking.size * EACH_MS);
  }

  /** Returns in how many milliseconds the document must be read, changed or not. */
  #lookIn(last: Seen | undefined): number {
    const isTold = this.#backend.watch !== undefined;
    if (!this.#hasWaiters) return this.#forEachLock(isTold ? LOOK_MS : REVOCATION_POLL_MS);
    if (this.#idle === Infinity) return LONGEST_POLL_MS;
    const view = this.#lock.present;
    if (last === undefined || view === undefined) return LEAST_MS;
    const { turn, queue } = last.document;
    const left = periodsOf(last.document).map((period) => view.left(period));
    // All store objects see the end of a lease or a turn at the same time, but only one has to write it.
    const rank = [...new Set(queue.map(({ store }) => store))].indexOf(this.#lock.waiters.store);
    const ahead = turn === undefined ? rank : rank - 1;
    const after = Math.min(Math.max(ahead, 0) * LEAST_MS, LONGEST_POLL_MS);
    const pollMs = isTold ? LOOK_MS : backoffMs(this.#idle, FIRST_POLL_MS, LONGEST_POLL_MS);
    return Math.min(pollMs, this.#lock.untilNextLook, ...left.map((ms) => Math.max(ms, LEAST_MS) + after));
  }
}
