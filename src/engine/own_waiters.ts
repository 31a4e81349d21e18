import { ShortLivedMap } from "../time/short_lived.ts";
import { type Clock, elapsed, type Instant } from "../time/clock.ts";
import { type Claim, handleOf } from "../contract/store.ts";
import type { DocumentWaiter, LockDocument } from "./document.ts";

/**
 * When a waiter attempts again without a wake-up, in milliseconds: a waiter that has slept in `wakeup()`, and others.
 */
const RETRY_ASLEEP_MS = 5_000;
const RETRY_MS = 500;

/** After how long the first waiter assumes that it may die soon, in milliseconds; each further waiter later. */
const HASTY_MS = 1_000;

/** The end of a wait, in milliseconds: time for an attempt, with two trips to the server. */
const LAST_MS = 500;

/** For how long a waiter that does not sleep is alive after an answered attempt, in milliseconds. */
const SILENT_MS = 3 * RETRY_MS;

/** The differences where the handles are in other processes, which ask the store object over a network. */
export interface RemoteWaiters {
  /** The id of the store object: the id of an earlier store object that has ended and whose waiters it takes over. */
  readonly store: string;
  /** For how long a waiter that has not asked the store object yet counts as alive, in milliseconds. */
  readonly graceMs: number;
  /** When a waiter that has slept in `wakeup()` attempts again, in milliseconds. */
  readonly retryAsleepMs: number;
}

interface FormerPlace {
  readonly ticket: number;
  readonly queuedAt: number;
}

/** A handle of this store object that waits for one lock. */
export interface OwnWaiter {
  readonly claim: Claim;
  /** Its place, once it is in the queue. It keeps the place when a run takes it out of the queue. */
  place: FormerPlace | undefined;
  /** Whether a run has taken it out of the queue. */
  isTaken: boolean;
  /** How many of its attempts are unanswered. */
  attempts: number;
  /** When it last attempted, or stopped sleeping. */
  activeAt: Instant;
  /** When its wait ends, by the monotonic clock; `Infinity` if not known. */
  endsAt: number;
  /** Whether it has slept in `wakeup()`. */
  usesWakeups: boolean;
  /** Wakes it, while it sleeps. */
  wake: (() => void) | undefined;
}

/** The handles of this store object that wait for one lock. */
export class OwnWaiters {
  readonly store: string;
  readonly #clock: Clock;
  readonly #remote: RemoteWaiters | undefined;
  readonly #since: Instant;
  /** The waiters, by their handles. Handles in other processes may die without a release. */
  readonly #all: ShortLivedMap<string, OwnWaiter>;

  constructor(clock: Clock, store: string, remote?: RemoteWaiters) {
    this.store = store;
    this.#clock = clock;
    this.#remote = remote;
    this.#since = clock.now();
    const isDead = (waiter: OwnWaiter, old: boolean) => old && !this.#isAlive(waiter);
    this.#all = new ShortLivedMap(remote && isDead);
  }

  get size(): number {
    return this.#all.size;
  }

  get sleeping(): OwnWaiter[] {
    return [...this.#all.values()].filter(({ wake }) => wake !== undefined);
  }

  get(claim: Claim): OwnWaiter | undefined {
    return this.#all.get(handleOf(claim));
  }

  /** Records that a handle attempts, and how many more milliseconds it waits. */
  asks(claim: Claim, left = Infinity): OwnWaiter {
    const now = this.#clock.now();
    const endsAt = now.monotonic + left;
    const known = this.notice(claim);
    if (known !== undefined) return Object.assign(known, { endsAt });
    const waiter: OwnWaiter = {
      claim,
      place: undefined,
      isTaken: false,
      attempts: 0,
      activeAt: now,
      endsAt,
      usesWakeups: false,
      wake: undefined,
    };
    this.#all.set(handleOf(claim), waiter);
    return waiter;
  }

  /** Records a sign of life of a handle. Returns the handle, if it waits here. */
  notice(claim: Claim): OwnWaiter | undefined {
    const waiter = this.get(claim);
    if (waiter !== undefined) waiter.activeAt = this.#clock.now();
    return waiter;
  }

  delete(claim: Claim): void {
    this.#all.delete(handleOf(claim));
  }

  /** Records that a run took waiters out of the queue. */
  take(run: readonly DocumentWaiter[]): void {
    for (const { claim, ticket, queuedAt } of run) {
      const waiter = this.get(claim);
      if (waiter !== undefined) Object.assign(waiter, { place: { ticket, queuedAt }, isTaken: true });
    }
  }

  /** Returns the place that a handle had in the queue, for its return; `undefined` if it has had none. */
  placeOf(claim: Claim): FormerPlace | undefined {
    return this.get(claim)?.place;
  }

  queued({ claim, ticket, queuedAt }: DocumentWaiter): void {
    const waiter = this.get(claim);
    if (waiter !== undefined) Object.assign(waiter, { place: { ticket, queuedAt }, isTaken: false });
  }

  /** Records the place of a handle, if it is unknown because a write was not answered. */
  keepPlace({ claim, ticket, queuedAt }: DocumentWaiter): void {
    const waiter = this.get(claim);
    if (waiter !== undefined) waiter.place ??= { ticket, queuedAt };
  }

  /** Gives the place of one handle to another. */
  succeed(from: Claim, to: Claim): void {
    // `from` lives until it is released: it is in the queue until this change is written.
    this.asks(to).place = this.notice(from)?.place;
  }

  /** For how long a waiter that has not attempted here counts as alive, in milliseconds. */
  get graceMs(): number {
    return this.#remote?.graceMs ?? 0;
  }

  /** Returns whether a handle waits here, and is alive; `isKnown`: only if it has attempted here. */
  owns(handle: string, isKnown = false): boolean {
    const waiter = this.#all.get(handle);
    if (waiter === undefined) return !isKnown && elapsed(this.#since, this.#clock.now()) < this.graceMs;
    return !waiter.isTaken && this.#isAlive(waiter);
  }

  /**
   * Returns when a handle should attempt again without a wake-up, in milliseconds; `isTimed`: the server has a clock.
   */
  retryAfter(claim: Claim, isTimed: boolean): number {
    const ms = this.get(claim)?.usesWakeups ? this.#remote?.retryAsleepMs ?? RETRY_ASLEEP_MS : RETRY_MS;
    const untilLast = this.leftOf(claim) - LAST_MS;
    return isTimed || untilLast <= 0 ? ms : Math.min(ms, untilLast);
  }

  /** Returns whether the wait of a handle is about to end, too soon to see a lease for its whole length. */
  isEnding(claim: Claim): boolean {
    return this.leftOf(claim) <= LAST_MS;
  }

  /** Returns for how many more milliseconds a handle waits; `Infinity` if not known. */
  leftOf(claim: Claim): number {
    return (this.get(claim)?.endsAt ?? Infinity) - this.#clock.now().monotonic;
  }

  /** For how many milliseconds the first of these handles that will give up still waits. */
  get leastPatience(): number {
    let first = Infinity;
    for (const { endsAt } of this.#all.values()) first = Math.min(first, endsAt);
    return first - this.#clock.now().monotonic;
  }

  /** Returns how many other store objects have waiters ahead of the waiters of this store object. */
  storesAhead({ queue }: LockDocument): number {
    return Math.max(0, [...new Set(queue.map(({ store }) => store))].indexOf(this.store));
  }

  /**
   * Returns for how long the queued waiters of this store object wait, in milliseconds. The first waiter assumes after
   * a while that it may die soon: not all of a crowd need to start timers.
   */
  patienceInQueue({ queue }: LockDocument, now: number): number {
    const rank = queue.findIndex(({ store }) => store === this.store);
    return rank >= 0 && now - queue[rank]!.queuedAt >= (1 + rank) * HASTY_MS ? 0 : Infinity;
  }

  /** Returns whether a handle has to attempt again: it can hold the lock now, or has left the queue. */
  isDue(claim: Claim, document: LockDocument): boolean {
    const waiter = document.waiter(claim);
    if (waiter === undefined) return this.get(claim)?.isTaken !== true;
    return document.next(() => true).includes(waiter);
  }

  wakeFor(document: LockDocument): void {
    if (this.#all.size === 0) return;
    const next = new Set(document.next(() => true).map(({ claim }) => handleOf(claim)));
    for (const { claim, isTaken, wake } of this.sleeping) {
      const absent = !isTaken && document.waiter(claim) === undefined;
      if (absent || next.has(handleOf(claim))) wake?.();
    }
  }

  wakeAll(): void {
    for (const { wake } of this.sleeping) wake?.();
  }

  #isAlive({ wake, attempts, activeAt }: OwnWaiter): boolean {
    return wake !== undefined || attempts > 0 || elapsed(activeAt, this.#clock.now()) < SILENT_MS;
  }
}
