import { ShortLivedMap } from "../../internal/process/short_lived.ts";
import { type Clock, elapsed, type Instant } from "../../internal/time/clock.ts";
import { type Claim, handleOf } from "../../store.ts";
import type { DocumentWaiter, LockDocument } from "./document.ts";

/** When a waiter attempts again if no wake-up comes, in milliseconds: one that has slept in `wakeup()`, and others. */
const RETRY_ASLEEP_MS = 5_000;
const RETRY_MS = 500;

/** For how long a waiter that does not sleep is alive after an attempt, in milliseconds. */
const SILENT_MS = 3 * RETRY_MS;

/** What differs where the handles are in other processes, which ask the store object over a network. */
export interface RemoteWaiters {
  /** The id of the store object: that of another one before it, which has ended and whose waiters are its own. */
  readonly store: string;
  /** For how long it takes a waiter for alive that has not asked it yet, in milliseconds. */
  readonly graceMs: number;
  /** When a waiter attempts again that has slept in `wakeup()`, in milliseconds. */
  readonly retryAsleepMs: number;
}

/** A place in a queue. */
interface FormerPlace {
  readonly ticket: number;
  readonly queuedAt: number;
}

/** A handle of this store object that waits for one lock. */
export interface OwnWaiter {
  readonly claim: Claim;
  /** Its place, once it is in the queue. It keeps that when it was taken out of the queue. */
  place: FormerPlace | undefined;
  /** Where it is: in the queue, for the first time or after it was struck off, or taken out of it by a run. */
  state: "queued" | "back" | "taken";
  /** When it last attempted, or stopped sleeping. */
  activeAt: Instant;
  /** Whether it has slept in `wakeup()`. */
  usesWakeups: boolean;
  /** Wakes it, while it sleeps. */
  wake: (() => void) | undefined;
}

/** The handles of this store object that wait for one lock. */
export class OwnWaiters {
  readonly #clock: Clock;
  readonly #remote: RemoteWaiters | undefined;
  readonly #since: Instant;
  /** Handles in other processes may die without a release. */
  readonly #all: ShortLivedMap<string, OwnWaiter>;

  constructor(clock: Clock, remote?: RemoteWaiters) {
    this.#clock = clock;
    this.#remote = remote;
    this.#since = clock.now();
    const isDead = (waiter: OwnWaiter, old: boolean) => old && !this.#isAlive(waiter);
    this.#all = new ShortLivedMap(remote && isDead);
  }

  get size(): number {
    return this.#all.size;
  }

  /** Those that sleep. */
  get sleeping(): OwnWaiter[] {
    return [...this.#all.values()].filter(({ wake }) => wake !== undefined);
  }

  get(claim: Claim): OwnWaiter | undefined {
    return this.#all.get(handleOf(claim));
  }

  /** Notes that a handle attempts, and is to wait. */
  asks(claim: Claim): OwnWaiter {
    const known = this.notice(claim);
    if (known !== undefined) return known;
    const waiter: OwnWaiter = {
      claim,
      place: undefined,
      state: "queued",
      activeAt: this.#clock.now(),
      usesWakeups: false,
      wake: undefined,
    };
    this.#all.set(handleOf(claim), waiter);
    return waiter;
  }

  /** Notes that a handle is alive. Returns it, if it waits here. */
  notice(claim: Claim): OwnWaiter | undefined {
    const waiter = this.get(claim);
    if (waiter !== undefined) waiter.activeAt = this.#clock.now();
    return waiter;
  }

  delete(claim: Claim): void {
    this.#all.delete(handleOf(claim));
  }

  /** Notes that waiters were taken out of the queue by a run. */
  take(run: readonly DocumentWaiter[]): void {
    for (const { claim, ticket, queuedAt } of run) {
      const waiter = this.get(claim);
      if (waiter !== undefined) Object.assign(waiter, { place: { ticket, queuedAt }, state: "taken" });
    }
  }

  /**
   * Returns the former place of a handle that is not in the queue; `undefined` if it has none. The second time in a row
   * that it was struck off, it has lost its place.
   */
  placeOf(claim: Claim): FormerPlace | undefined {
    const waiter = this.get(claim);
    return waiter?.state === "back" ? undefined : waiter?.place;
  }

  /** Notes that a handle is in the queue now, with that place. */
  queued({ claim, ticket, queuedAt }: DocumentWaiter): void {
    const waiter = this.get(claim);
    if (waiter === undefined) return;
    waiter.state = waiter.place?.ticket === ticket && waiter.state === "queued" ? "back" : "queued";
    waiter.place = { ticket, queuedAt };
  }

  /** Notes the place of a handle, if it is not known because a write was not answered. */
  keepPlace({ claim, ticket, queuedAt }: DocumentWaiter): void {
    const waiter = this.get(claim);
    if (waiter !== undefined) waiter.place ??= { ticket, queuedAt };
  }

  /** Gives the place of one handle to another one. */
  succeed(from: Claim, to: Claim): void {
    // The first one lives until it is released: it is in the queue until this is written.
    this.asks(to).place = this.notice(from)?.place;
  }

  /** For how long a waiter that has not attempted here is taken for alive, in milliseconds. */
  get graceMs(): number {
    return this.#remote?.graceMs ?? 0;
  }

  /** Returns whether a handle waits here, and is alive; `isKnown`: only if it has attempted here. */
  owns(handle: string, isKnown = false): boolean {
    const waiter = this.#all.get(handle);
    if (waiter === undefined) return !isKnown && elapsed(this.#since, this.#clock.now()) < this.graceMs;
    return waiter.state !== "taken" && this.#isAlive(waiter);
  }

  /** Returns when a handle is to attempt again, in milliseconds, if no wake-up comes. */
  retryAfter(claim: Claim): number {
    return this.get(claim)?.usesWakeups ? this.#remote?.retryAsleepMs ?? RETRY_ASLEEP_MS : RETRY_MS;
  }

  /** Returns whether a handle has to attempt again: it can hold the lock now, or has left the queue. */
  isDue(claim: Claim, document: LockDocument): boolean {
    const waiter = document.waiter(claim);
    if (waiter === undefined) return this.get(claim)?.state !== "taken";
    return document.next(() => true).includes(waiter);
  }

  /** Wakes those that have to attempt again. */
  wakeFor(document: LockDocument): void {
    if (this.#all.size === 0) return;
    const next = new Set(document.next(() => true).map(({ claim }) => handleOf(claim)));
    for (const { claim, state, wake } of this.sleeping) {
      const absent = state !== "taken" && document.waiter(claim) === undefined;
      if (absent || next.has(handleOf(claim))) wake?.();
    }
  }

  /** Wakes all of them. */
  wakeAll(): void {
    for (const { wake } of this.sleeping) wake?.();
  }

  #isAlive({ wake, activeAt }: OwnWaiter): boolean {
    return wake !== undefined || elapsed(activeAt, this.#clock.now()) < SILENT_MS;
  }
}
