import { LATE, within } from "../contract/release.ts";
import { type Clock, elapsed, type Instant } from "../time/clock.ts";
import type { Backend, WatchedDocument } from "./backend.ts";
import { DocumentContention } from "./contention.ts";
import { formatDocument, type LockDocument } from "./document.ts";
import { OwnWaiters, type RemoteWaiters } from "./own_waiters.ts";
import { type DocumentChange, noteWrite, type PendingCall, type Plan, planOf, settle, settleWritten } from "./plan.ts";
import { Seen, type Trip } from "./seen.ts";
import { DocumentSuccession } from "./succession.ts";
import type { DocumentSweeper } from "./sweeper.ts";
import type { OwnTimers } from "./timers.ts";
import { DocumentView } from "./view.ts";

/** How long a call of the backend may take, in milliseconds; a write at most a third of the shortest lease in it. */
const ANSWER_MS = 2_000;

const NO_ANSWERS: ReadonlyMap<string, boolean | undefined> = new Map();

/** The values that all locks of one store object share. */
export interface CasContext {
  readonly backend: Backend;
  readonly clock: Clock;
  readonly store: string;
  /** Returns an id for a write, which no other write ever has. */
  readonly writeId: () => string;
  readonly maxClockSkew: number;
  readonly maxBytes: number;
  readonly timers: OwnTimers | undefined;
  /** Set where the handles are in other processes. */
  readonly remote: RemoteWaiters | undefined;
  /** Returns a random number from 0 to 1. */
  readonly random: () => number;
  readonly sweeper: DocumentSweeper;
  /** The locks whose documents are watched now: the more there are, the more rarely each is read. */
  readonly looking: Set<CasLock>;
}

/**
 * One lock in one store object: what the store object has seen of the document, and the calls that read and write it.
 */
export abstract class CasLock {
  readonly name: string;
  readonly waiters: OwnWaiters;
  readonly context: CasContext;
  readonly #contention: DocumentContention;
  /** The questions about timers, where the server has timers. */
  readonly #succession: DocumentSuccession | undefined;
  #seen: Seen | undefined;
  /** Whether `#seen` is up to date, as far as known: while a write is unanswered it may not be. */
  #isSure = false;
  #calls: PendingCall[] = [];
  #working = false;
  /** When the last answered request was sent; until one is, when this was created. */
  #askedAt: Instant;
  /** The leases in the document that was last read or written, and its moment. */
  #leases: { readonly ms: readonly number[]; readonly at: Instant } | undefined;

  constructor(name: string, context: CasContext) {
    this.name = name;
    this.context = context;
    this.waiters = new OwnWaiters(context.clock, context.store, context.remote);
    this.#askedAt = context.clock.now();
    const goOn = (calls: readonly PendingCall[]) => this.#goOn(calls);
    this.#contention = new DocumentContention(name, context, goOn);
    this.#succession = context.timers && new DocumentSuccession(context.timers, this.waiters, goOn);
  }

  /** Called with each document that is read, written or reported. */
  abstract onSeen(document: LockDocument): void;

  /** Whether it can be dropped: it has no call, no waiter and nothing to remember. */
  get isUseless(): boolean {
    return !this.#working && !this.#contention.isPausing && !this.#succession?.isAsking &&
      this.waiters.size === 0 && (this.last?.isStale(this.context.clock.now()) ?? true);
  }

  /** The last seen document, unless an unanswered write may have changed it. */
  get last(): Seen | undefined {
    return this.#isSure ? this.#seen : undefined;
  }

  #view(seen: Seen, now: Instant, cannotWatch: boolean, time = seen.time): DocumentView {
    const { maxClockSkew, backend, timers } = this.context;
    return new DocumentView(seen, now, {
      time,
      skew: time === undefined || backend.severalClocks ? maxClockSkew : 0,
      // Where the server has timers no clock of a client decides.
      cannotWatch: cannotWatch && this.#succession === undefined,
      answers: this.#succession?.answers ?? NO_ANSWERS,
      timerFor: timers && ((ms) => timers.lasting(ms, now)),
    });
  }

  /** Returns this store object's present view of the document, without asking the server for its clock. */
  get present(): DocumentView | undefined {
    const { last } = this;
    const now = this.context.clock.now();
    return last && this.#view(last, now, false, last.earliest(now));
  }

  /** Changes the document, together with other calls; one write at a time. Resolves to the answer. */
  change<T>(change: DocumentChange<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const call: PendingCall = {
        change,
        resolve: resolve as PendingCall["resolve"],
        reject,
        retries: 0,
        begunAt: this.context.clock.now(),
        pausedAt: undefined,
        hasAsked: false,
        read: undefined,
        sent: [],
      };
      // Behind the calls that pause, unless it may pass them.
      if (!change.passes) this.#contention.resume();
      if (!change.passes && this.#succession?.isAsking) return this.#succession.add(call);
      this.#calls.push(call);
      if (!this.#working) void this.#work();
    });
  }

  /**
   * Records the document that a watch has returned, if it is newer than `from`. Returns whether it replaces a read: not
   * if the last answered request is `readMs` milliseconds old, because all results of watches may be late.
   */
  watched(from: Seen, { value, version }: WatchedDocument, begunAt: Instant, readMs: number): boolean {
    const seen = from.replaced({ value, version }, this.#trip(begunAt));
    // It never falls, unless the document was removed.
    if (seen.document.counter <= from.document.counter) return false;
    this.#saw(seen);
    return elapsed(this.#askedAt, seen.receivedAt) < readMs;
  }

  /** Answers calls before the calls that came meanwhile. */
  #goOn(calls: readonly PendingCall[]): void {
    this.#calls.unshift(...calls);
    if (!this.#working) void this.#work();
  }

  async #work(): Promise<void> {
    this.#working = true;
    while (this.#calls.length > 0) {
      await this.#answer(this.#calls.splice(0));
    }
    this.#working = false;
  }

  /** Answers calls, with as few trips as possible. Pausing calls are answered later. */
  async #answer(calls: readonly PendingCall[]): Promise<void> {
    const { clock, maxBytes } = this.context;
    try {
      let seen = this.last?.isStale(clock.now()) ? undefined : this.last;
      const isRead = seen === undefined || calls.every(({ read }) => read === seen);
      let source: "memory" | "read" | "refusal" = isRead ? "read" : "memory";
      seen ??= await this.#read();
      while ((calls = this.#contention.patient(settleWritten(calls, seen.document))).length > 0) {
        const now = clock.now();
        // A store object whose clocks have moved apart since the read does not trust them.
        const cannotWatch = !seen.isStale(now) && calls.some(({ change }) => change.cannotWatch);
        const view = this.#view(seen, now, cannotWatch);
        const plan = planOf(seen, calls, view, this.waiters, maxBytes);
        if (source === "memory" && (plan.needs === "read" || plan.mayBeOver)) {
          seen = await this.#read();
          source = "read";
          continue;
        }
        const asking = this.#succession?.ask(plan, view, now, source === "memory" ? undefined : seen) ?? [];
        if (asking.length > 0) {
          calls = calls.filter((call) => !asking.includes(call));
          continue;
        }
        const isAnswered = plan.needs === "read" || plan.needs === "seen" ||
          plan.needs === "proof" && source === "refusal";
        if (isAnswered) return settle(plan);
        const refusal = await this.#write(seen, plan, now);
        if (refusal === undefined) return settle(plan);
        const outdated = source === "memory";
        source = refusal.found === undefined ? "read" : "refusal";
        seen = refusal.found ?? await this.#read();
        const refused = this.#contention.patient(settleWritten(calls, seen.document));
        calls = this.#contention.refused(refused, seen.document, now, outdated);
        // Calls that have come meanwhile do not pause.
        if (this.#calls.some(({ change }) => !change.passes)) this.#contention.resume();
      }
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
  }

  async #read(): Promise<Seen> {
    const { backend, clock } = this.context;
    const sentAt = clock.now();
    const found = await this.#inTime(backend.read(this.name), "read", sentAt);
    return this.#saw(new Seen(this.name, found, this.#trip(sentAt), this.#seen));
  }

  /** Writes a planned document. When the write is refused, resolves to the present content, if the backend tells it. */
  async #write(
    seen: Seen,
    plan: Plan,
    sentAt: Instant,
  ): Promise<{ readonly found: Seen | undefined } | undefined> {
    const { backend, writeId, sweeper } = this.context;
    const { document, notBefore, notify, heir, now } = plan;
    document.used = now;
    noteWrite(plan, writeId);
    const value = formatDocument(this.name, document);
    this.#noteLeases(document, sentAt);
    // Until the write is answered, the present content is not known.
    this.#isSure = false;
    const request = backend.write(this.name, value, seen.version, { notBefore, notify, heir });
    const reply = await this.#inTime(request, "write", sentAt);
    if (!reply.written) {
      return { found: reply.found && this.#saw(seen.replaced(reply.found, this.#trip(sentAt))) };
    }
    this.#contention.accepted();
    const { version, time } = reply;
    this.#saw(seen.replaced({ value, version, time }, this.#trip(sentAt), document));
    if (seen.isAbsent) sweeper.made(this.name);
    return undefined;
  }

  /** Settles like a request that was sent at a moment, or rejects when it takes too long. */
  async #inTime<T>(request: Promise<T>, what: string, sentAt: Instant): Promise<T> {
    const { backend, clock } = this.context;
    const ms = this.#answerMs(sentAt);
    try {
      const reply = await within(ms, request, clock, sentAt);
      this.#askedAt = sentAt;
      return reply;
    } catch (error) {
      if (error !== LATE) throw error;
      const why = backend.lateBecause === undefined ? "" : `: ${backend.lateBecause}`;
      throw new Error(`no answer to a ${what} within ${Math.round(ms)} ms${why}`);
    }
  }

  /**
   * Returns how long a request may take: a third of the shortest lease, as renewals wait for it. A lease that was last
   * seen longer ago than its length does not count: no handle of this store object renews it, and the network may be
   * too slow for it.
   */
  #answerMs(sentAt: Instant): number {
    const { ms = [], at = sentAt } = this.#leases ?? {};
    const age = elapsed(at, sentAt);
    return ms.reduce((least, lease) => lease < age ? least : Math.min(least, lease / 3), ANSWER_MS);
  }

  #noteLeases({ holders }: LockDocument, at: Instant): void {
    this.#leases = { ms: Array.from(holders.values(), ({ lease }) => lease), at };
  }

  #trip(sentAt: Instant): Trip {
    return { sentAt, receivedAt: this.context.clock.now() };
  }

  #saw(seen: Seen): Seen {
    this.#seen = seen;
    this.#isSure = true;
    this.#noteLeases(seen.document, seen.receivedAt);
    this.onSeen(seen.document);
    return seen;
  }
}
