import type { WatchedDocument } from "./backend.ts";
import type { LockDocument } from "./document.ts";
import { CasLock } from "./lock.ts";
import { warnOnce } from "../internal/process/warning.ts";
import { reason } from "../internal/reason.ts";
import { calledOrAborted } from "../time/aborted.ts";
import { backoffMs } from "../time/clock.ts";
import { periodsOf } from "./period.ts";
import type { DocumentChange } from "./plan.ts";
import type { Seen } from "./seen.ts";
import { untilNextLook } from "./succession.ts";

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

/**
 * How many watches in a row may end in vain until the document is read at intervals, for waiters: one is usual, as the
 * notification of a change may arrive behind the answer to a later write.
 */
const VAIN = 1;

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

/** The end of a watch of the backend. */
type WatchEnd = PromiseSettledResult<WatchedDocument | void>;

/**
 * One lock in one store object, whose document is read while there are waiters or watching holders: when the backend
 * reports a change, when a lease or a turn in it is over, and at intervals.
 */
export class WatchedLock extends CasLock {
  /** The local holders that watch for revocation, by their handles: each is given the documents that are seen. */
  readonly holders = new Map<string, (document: LockDocument) => void>();
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

  override get isUseless(): boolean {
    return super.isUseless && this.holders.size === 0;
  }

  override onSeen(document: LockDocument): void {
    // It replaces the next read.
    this.#pause?.abort("seen");
    this.waiters.wakeFor(document);
    for (const check of this.holders.values()) check(document);
  }

  /** Whether its document is read now and then. */
  get isWatched(): boolean {
    return this.context.looking.has(this);
  }

  /** Begins or ends to read, as there are waiters and watching holders or not. */
  update(): void {
    if (!this.#isWanted) this.#pause?.abort("unwanted");
    else if (!this.isWatched) void this.#run();
    else if (this.#isLong && this.#hasWaiters) this.#pause?.abort("shorter");
  }

  get #isWanted(): boolean {
    return this.holders.size > 0 || this.#hasWaiters;
  }

  async #run(): Promise<void> {
    const { looking, clock } = this.context;
    looking.add(this);
    while (this.#isWanted) {
      const { last } = this;
      const begunAt = clock.now();
      const watchEnd = await this.#wait(last);
      if (last?.version !== this.last?.version) this.#vain = 0;
      if (watchEnd === "aborted" || !this.#isWanted || last !== this.last) continue;
      try {
        const found = watchEnd?.status === "fulfilled" && watchEnd.value;
        const isTold = found && this.watched(last!, found, begunAt, LOOK_MS);
        await this.change(look(isTold ? "seen" : "read"));
        this.#idle = this.last?.version === last?.version ? this.#idle + 1 : 0;
        // The store has answered after that: it is a fault of watches.
        if (watchEnd?.status === "rejected" && !this.#isLong) this.#noteFault(watchEnd.reason);
        else if (watchEnd !== undefined) this.#unwatched = 0;
      } catch {
        // The waiters attempt, and find the fault.
        this.waiters.wakeAll();
        this.#idle = Infinity;
      }
      this.#vain = watchEnd !== undefined && this.#idle > 0 ? this.#vain + 1 : 0;
    }
    looking.delete(this);
  }

  /**
   * Waits until the document may have changed, or a read is due. Resolves to the end of the backend's watch, if it has
   * ended; to `"aborted"` if the pause was ended.
   */
  async #wait(last: Seen | undefined): Promise<WatchEnd | undefined | "aborted"> {
    const { clock, backend } = this.context;
    const pause = this.#pause = new AbortController();
    this.#isLong = !this.#hasWaiters;
    let watchEnd: WatchEnd | undefined;
    await calledOrAborted(pause.signal, (end) => {
      const timers = [clock.timer(this.#lookIn(last), () => end())];
      let over = false;
      if (last !== undefined && backend.watch !== undefined) {
        void Promise.allSettled([this.#watch(last, pause.signal)]).then(([ended]) => {
          if (over) return;
          watchEnd = ended;
          if (ended.status === "fulfilled" && this.#vain <= (this.#isLong ? 0 : VAIN)) end();
          else timers.push(clock.timer(this.#unwatchedPollMs, () => end()));
        });
      }
      return () => {
        over = true;
        for (const timer of timers) timer.cancel();
      };
    });
    this.#pause = undefined;
    if (pause.signal.aborted) return "aborted";
    pause.abort("over");
    return watchEnd;
  }

  #noteFault(fault: unknown): void {
    if (++this.#unwatched < UNWATCHED) return;
    warnOnce("watch", `Waiters poll, since the store does not notify them: ${reason(fault)}`);
  }

  async #watch({ version }: Seen, signal: AbortSignal): Promise<WatchedDocument | void> {
    const options = { isWaited: !this.#isLong, store: this.waiters.store };
    return await this.context.backend.watch!(this.name, version, signal, options);
  }

  get #hasWaiters(): boolean {
    return this.waiters.sleeping.length > 0;
  }

  /** How long after a failed or useless watch the document is read, in milliseconds. */
  get #unwatchedPollMs(): number {
    if (this.#isLong) return this.#forEachLock(REVOCATION_POLL_MS);
    return backoffMs(this.#vain, FIRST_POLL_MS, LONGEST_POLL_MS);
  }

  #forEachLock(leastMs: number): number {
    return Math.max(leastMs, this.context.looking.size * EACH_MS);
  }

  /** Returns in how many milliseconds the document must be read, changed or not. */
  #lookIn(last: Seen | undefined): number {
    const isTold = this.context.backend.watch !== undefined;
    if (!this.#hasWaiters) return this.#forEachLock(isTold ? LOOK_MS : REVOCATION_POLL_MS);
    if (this.#idle === Infinity) return LONGEST_POLL_MS;
    const view = this.present;
    if (last === undefined || view === undefined) return LEAST_MS;
    const { turn } = last.document;
    const left = periodsOf(last.document).map((period) => view.left(period));
    // All store objects see the end of a lease or a turn at the same time, but only one has to write it.
    const ahead = this.waiters.storesAhead(last.document);
    const after = Math.min(Math.max(0, turn === undefined ? ahead : ahead - 1) * LEAST_MS, LONGEST_POLL_MS);
    const pollMs = isTold ? LOOK_MS : backoffMs(this.#idle, FIRST_POLL_MS, LONGEST_POLL_MS);
    const lookMs = this.context.timers === undefined
      ? Infinity
      : untilNextLook(last.document, view, this.waiters.leastPatience, ahead);
    return Math.min(pollMs, lookMs, ...left.map((ms) => Math.max(ms, LEAST_MS) + after));
  }
}
