import { type Clock, elapsed, type Instant } from "../time/clock.ts";
import type { Backend, WatchedDocument } from "./backend.ts";
import { DocumentContention } from "./contention.ts";
import { formatDocument, type LockDocument } from "./document.ts";
import { OwnWaiters, type RemoteWaiters } from "./own_waiters.ts";
import { type DocumentChange, noteWrite, type PendingCall, type Plan, planOf, settle, settleWritten } from "./plan.ts";
import { Requests } from "./requests.ts";
import { Seen, type Trip } from "./seen.ts";
import { DocumentSuccession, untilNextLook } from "./succession.ts";
import type { DocumentSweeper } from "./sweeper.ts";
import type { OwnTimers } from "./timers.ts";
import { DocumentView } from "./view.ts";

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
}

/**
 * One lock in one store object: what the store object has seen of the document, and the calls that read and write it.
 */
export class CasLock {
  readonly name: string;
  readonly waiters: OwnWaiters;
  readonly #context: CasContext;
  readonly #requests: Requests;
  readonly #contention: DocumentContention;
  /** The questions about timers, where the server has timers. */
  readonly #succession: DocumentSuccession | undefined;
  readonly #onSeen: (lock: CasLock, document: LockDocument) => void;
  #seen: Seen | undefined;
  /** Whether `#seen` is up to date, as far as known: while a write is unanswered it may not be. */
  #isSure = false;
  #calls: PendingCall[] = [];
  #working = false;

  constructor(name: string, context: CasContext, onSeen: (lock: CasLock, document: LockDocument) => void) {
    this.name = name;
    this.#context = context;
    this.#onSeen = onSeen;
    this.waiters = new OwnWaiters(context.clock, context.store, context.remote);
    this.#requests = new Requests(context.backend, context.clock);
    const goOn = (calls: readonly PendingCall[]) => this.#goOn(calls);
    this.#contention = new DocumentContention(name, context, goOn);
    this.#succession = context.timers && new DocumentSuccession(context.timers, this.waiters, goOn);
  }

  /** Whether it can be dropped: it has no call, no waiter and nothing to remember. */
  get isUseless(): boolean {
    return !this.#working && !this.#contention.isPausing && !this.#succession?.isAsking &&
      this.waiters.size === 0 && (this.last?.isStale(this.#context.clock.now()) ?? true);
  }

  /** The last seen document, unless an unanswered write may have changed it. */
  get last(): Seen | undefined {
    return this.#isSure ? this.#seen : undefined;
  }

  #view(seen: Seen, now: Instant, cannotWatch: boolean, time = seen.time): DocumentView {
    const { maxClockSkew, backend } = this.#context;
    return new DocumentView(seen, now, {
      time,
      skew: time === undefined || backend.severalClocks ? maxClockSkew : 0,
      // Where the server has timers no clock of a client decides.
      cannotWatch: cannotWatch && this.#succession === undefined,
      answers: this.#succession?.answers ?? NO_ANSWERS,
    });
  }

  /** Returns this store object's present view of the document, without asking the server for its clock. */
  get present(): DocumentView | undefined {
    const { last } = this;
    const now = this.#context.clock.now();
    return last && this.#view(last, now, false, last.earliest(now));
  }

  /** Returns how long a waiter may go without checking the timers of the server, in milliseconds. */
  get untilNextLook(): number {
    const view = this.#succession && this.present;
    return view === undefined ? Infinity : untilNextLook(this.last!.document, view);
  }

  /** Changes the document, together with other calls; one write at a time. Resolves to the answer. */
  change<T>(change: DocumentChange<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const call: PendingCall = {
        change,
        resolve: resolve as PendingCall["resolve"],
        reject,
        retries: 0,
        begunAt: this.#context.clock.now(),
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
    return elapsed(this.#requests.askedAt, this.#context.clock.now()) < readMs;
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
    const { clock, maxBytes, timers } = this.#context;
    try {
      let seen = this.last?.isStale(clock.now()) ? undefined : this.last;
      const isRead = seen === undefined || calls.every(({ read }) => read === seen);
      let source: "memory" | "read" | "refusal" = isRead ? "read" : "memory";
      seen ??= await this.#read();
      calls = settleWritten(calls, seen.document);
      while ((calls = this.#contention.patient(calls)).length > 0) {
        const now = clock.now();
        // A store object whose clocks have moved apart since the read does not trust them.
        const cannotWatch = !seen.isStale(now) && calls.some(({ change }) => change.cannotWatch);
        const view = this.#view(seen, now, cannotWatch);
        const timerFor = timers && ((ms: number) => timers.lasting(ms, now));
        const plan = planOf(seen, calls, view, { waiters: this.waiters, maxBytes, timerFor });
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
        calls = this.#contention.refused(refused, seen.document, { sentAt: now, outdated });
        // Calls that have come meanwhile do not pause.
        if (this.#calls.some(({ change }) => !change.passes)) this.#contention.resume();
      }
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
  }

  async #read(): Promise<Seen> {
    const { backend, clock } = this.#context;
    const sentAt = clock.now();
    const found = await this.#requests.inTime(backend.read(this.name), "read", sentAt);
    return this.#saw(new Seen(this.name, found, this.#trip(sentAt), this.#seen));
  }

  /** Writes a planned document. When the write is refused, resolves to the present content, if the backend tells it. */
  async #write(
    seen: Seen,
    plan: Plan,
    sentAt: Instant,
  ): Promise<{ readonly found: Seen | undefined } | undefined> {
    const { backend, writeId, sweeper } = this.#context;
    const { document, notBefore, notify, heir, now } = plan;
    document.used = now;
    noteWrite(plan, writeId);
    const value = formatDocument(this.name, document);
    this.#requests.noteLeases(document, sentAt);
    // Until the write is answered, the present content is not known.
    this.#isSure = false;
    const request = backend.write(this.name, value, seen.version, { notBefore, notify, heir });
    const reply = await this.#requests.inTime(request, "write", sentAt);
    if (!reply.written) {
      return { found: reply.found && this.#saw(seen.replaced(reply.found, this.#trip(sentAt))) };
    }
    this.#contention.accepted();
    const { version, time } = reply;
    this.#saw(seen.replaced({ value, version, time }, this.#trip(sentAt), document));
    if (seen.isAbsent) sweeper.made(this.name);
    return undefined;
  }

  #trip(sentAt: Instant): Trip {
    return { sentAt, receivedAt: this.#context.clock.now() };
  }

  #saw(seen: Seen): Seen {
    this.#seen = seen;
    this.#isSure = true;
    this.#requests.noteLeases(seen.document, this.#context.clock.now());
    this.#onSeen(this, seen.document);
    return seen;
  }
}
