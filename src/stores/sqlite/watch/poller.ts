import { aborted, calledOrAborted } from "../../../time/aborted.ts";
import type { Clock, Timer } from "../../../time/clock.ts";
import { ownerKey } from "../../../rules/occupancy.ts";
import type { Claim } from "../../../contract/store.ts";
import type { LockFile } from "../file/file.ts";
import type { Heartbeats } from "./heartbeats.ts";
import { type LockState, readLockState } from "../tables/lock_state.ts";
import type { Statements } from "../tables/statements.ts";
import type { QueuePlace } from "../tables/transitions.ts";
import type { LocalWaiters, Queue, QueuedWaiter } from "./local_waiters.ts";

/** The shortest and the longest time between two polls, in milliseconds. */
const POLL_MS = { min: 1, max: 20 } as const;

/** The pause before the next poll, as a part of the time for which nothing has changed. */
const PAUSE_RATIO = 1 / 16;

/** How often a queue is checked although the file has not changed, in milliseconds: other clients may have died. */
const CHECK_MS = 500;

/** How many waiters of one queue one poll wakes. The next poll wakes the following ones. */
const WAKE_LIMIT = 32;

/** How many milliseconds one poll may take before it leaves the other queues to the next poll. */
const TURN_MS = 4;

/**
 * Polls the file while there are waiters of this client, and wakes the waiters that have their turn. A poll first asks
 * whether another connection has written to the file. Only then, or when a lease has ended, it checks the first waiters
 * of each queue.
 */
export class Poller {
  readonly #file: LockFile;
  readonly #waiters: LocalWaiters;
  readonly #heartbeats: Heartbeats;
  readonly #clock: Clock;
  #dataVersion: number | undefined;
  #timer: Timer | undefined;
  /** Whether the last poll had no time for some of the queues. */
  #behind = false;

  constructor(file: LockFile, waiters: LocalWaiters, heartbeats: Heartbeats, clock: Clock) {
    this.#file = file;
    this.#waiters = waiters;
    this.#heartbeats = heartbeats;
    this.#clock = clock;
  }

  add(claim: Claim, place: QueuePlace): void {
    this.#waiters.add(claim, place);
    this.#heartbeats.start();
    if (this.#timer === undefined) this.#schedule(POLL_MS.min);
  }

  delete(claim: Claim): void {
    this.#waiters.delete(claim);
    if (this.#timer !== undefined && !this.#waiters.anyQueued) this.#stop();
  }

  /** Resolves when another attempt of a waiter is worthwhile, and when the signal aborts. */
  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    if (this.#file.closed) return Promise.resolve();
    const waiter = this.#waiters.get(claim);
    if (waiter === undefined) return aborted(signal);
    return calledOrAborted(signal, (call) => {
      const wake = () => {
        waiter.woken = true;
        call();
      };
      waiter.usesWakeups = true;
      waiter.wake = wake;
      // It may have become its turn between the attempt and this call.
      this.#invalidate(claim.name);
      return () => {
        if (waiter.wake === wake) waiter.wake = undefined;
      };
    });
  }

  /** Checks the queue of a name at once: this process has changed the lock. */
  async check(name: string): Promise<void> {
    const queue = this.#waiters.queue(name);
    if (queue === undefined) return;
    // After a fault the next poll checks the queue.
    await this.#file.read((run, now) => this.#check(queue, run, now)).catch(() => this.#invalidate(name));
  }

  /** Stops, and wakes all waiters. Called once the file is closed. */
  close(): void {
    this.#stop();
    for (const { wake } of this.#waiters.all) wake?.();
  }

  /** Makes the next poll check the queue of a name. */
  #invalidate(name: string): void {
    const queue = this.#waiters.queue(name);
    if (queue !== undefined) queue.dataVersion = undefined;
  }

  #stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#heartbeats.stop();
  }

  #schedule(ms: number): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.timer(ms, () => void this.#poll());
  }

  async #poll(): Promise<void> {
    this.#heartbeats.writeIfDue();
    try {
      await this.#file.read((run) => this.#checkAll(run));
    } catch {
      // Each attempt finds out by itself what is wrong, and whether it is permanent.
      for (const { wake } of this.#waiters.all) wake?.();
    }
    if (this.#file.closed) return;
    if (this.#waiters.anyQueued) this.#schedule(this.#pause());
    else this.#stop();
  }

  #checkAll(run: Statements): void {
    this.#dataVersion = Number(run.dataVersion.get()?.["data_version"]);
    const started = this.#clock.now().monotonic;
    this.#behind = false;
    for (const queue of [...this.#waiters.queues]) {
      const { monotonic, wall } = this.#clock.now();
      if (queue.dataVersion === this.#dataVersion && monotonic < queue.checkAt) continue;
      this.#behind = monotonic - started > TURN_MS;
      if (this.#behind) return;
      // The queues that this poll leaves out come first in the next one.
      this.#waiters.moveLast(queue);
      this.#check(queue, run, wall);
    }
  }

  /** Wakes the waiters of a queue whose turn has come, or that are to be refused. */
  #check(queue: Queue, run: Statements, now: number): void {
    queue.dataVersion = this.#dataVersion;
    queue.checkAt = this.#clock.now().monotonic + CHECK_MS;
    const view = this.#heartbeats.view(now);
    let checked = 0;
    for (const waiter of queue.waiters.values()) {
      if (waiter.wake === undefined) continue;
      if (checked === WAKE_LIMIT) {
        queue.dataVersion = undefined;
        break;
      }
      const state = readLockState(run, waiter.claim, waiter.ticket, view);
      if (checked++ === 0) this.#summarize(queue, waiter, state, run);
      if (state.outcome === "busy" && !state.overlong) break;
      waiter.wake();
    }
    if (queue.owned.size > 0) this.#wakeOwners(queue, run, now);
  }

  /** Summarizes the first waiter's view of the lock, on which the time of the next check depends. */
  #summarize(queue: Queue, { ticket }: QueuedWaiter, { newestFence, endsIn }: LockState, run: Statements): void {
    const { monotonic } = this.#clock.now();
    const rank = Number(run.rank.get(queue.name, ticket)?.["rank"]);
    const summary = `${rank} ${newestFence}`;
    if (summary !== queue.summary) {
      queue.summary = summary;
      queue.changedAt = monotonic;
    }
    queue.rank = rank;
    if (endsIn > 0) queue.checkAt = Math.min(queue.checkAt, monotonic + endsIn);
  }

  /** Wakes the handles whose owners hold the lock by another handle: they need no turn. */
  #wakeOwners(queue: Queue, run: Statements, now: number): void {
    const holding = new Set(run.ownerKeys.all(queue.name, now).map(({ ownerKey }) => ownerKey));
    for (const { claim, wake } of queue.owned) if (holding.has(ownerKey(claim))) wake?.();
  }

  /** Returns the time to the next poll, in milliseconds: short after a change, and longer while nothing changes. */
  #pause(): number {
    const now = this.#clock.now().monotonic;
    if (this.#behind) return POLL_MS.min;
    let pause: number = POLL_MS.max;
    for (const { dataVersion, checkAt, changedAt, rank } of this.#waiters.queues) {
      if (dataVersion === undefined) return POLL_MS.min;
      // No waiter is granted the lock before those ahead have handed it on.
      const soonest = POLL_MS.min * Math.max(1, rank);
      pause = Math.min(pause, Math.max(Math.min((now - changedAt) * PAUSE_RATIO, checkAt - now), soonest));
    }
    return Math.max(POLL_MS.min, pause);
  }
}
