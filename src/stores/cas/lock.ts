import { StoreError } from "../../errors.ts";
import { LATE, within } from "../../internal/lease/release.ts";
import { backoffMs } from "../../internal/time/backoff.ts";
import { type Clock, elapsed, type Instant } from "../../internal/time/clock.ts";
import type { Backend, WatchedDocument } from "./backend.ts";
import { formatDocument, type LockDocument } from "./document.ts";
import { OwnWaiters, type RemoteWaiters } from "./own_waiters.ts";
import { Observations } from "./observations.ts";
import { type DocumentChange, type PendingCall, type Plan, planOf, settle } from "./plan.ts";
import { Sighting } from "./sighting.ts";
import type { DocumentView } from "./tidy.ts";

/** How long a call of the backend may take, in milliseconds; a write no longer than a third of the shortest lease in it. */
const ANSWER_MS = 2_000;

/** The pauses of a call whose write was refused, in milliseconds: the first one and the longest one, each times a random part. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 2_000;

/** How often a call writes again without a pause, and for how long at all, in milliseconds. */
const AT_ONCE = 20;
const LONGEST_CONTENTION_MS = 10_000;

/** A document that has more than this part of its largest size is large. */
const LARGE = 1 / 4;

/** What all locks of one store object share. */
export interface CasContext {
  readonly backend: Backend;
  readonly clock: Clock;
  /** The id of the store object. */
  readonly store: string;
  readonly maxClockSkew: number;
  readonly maxBytes: number;
  /** Given where the handles are in other processes. */
  readonly remote: RemoteWaiters | undefined;
  /** Returns a random number from 0 to 1. */
  readonly random: () => number;
}

/** One lock, as one store object knows it: what it has seen of the document, and the calls that read and write it. */
export class CasLock {
  readonly name: string;
  readonly waiters: OwnWaiters;
  readonly #context: CasContext;
  readonly #observations = new Observations();
  /** Called when the document was read or written. */
  readonly #sighted: (lock: CasLock, document: LockDocument) => void;
  #last: Sighting | undefined;
  #receivedAt: Instant | undefined;
  /** When the last request was sent that was answered. */
  #askedAt: Instant | undefined;
  /** The leases in the document that was read or written last, and when that was. */
  #leases: { readonly ms: readonly number[]; readonly at: Instant } | undefined;
  #calls: PendingCall[] = [];
  #working = false;
  /** How many calls pause. */
  #paused = 0;

  constructor(name: string, context: CasContext, sighted: (lock: CasLock, document: LockDocument) => void) {
    this.name = name;
    this.#context = context;
    this.#sighted = sighted;
    this.waiters = new OwnWaiters(context.clock, context.remote);
  }

  /** Whether nothing is lost with it: no call, no waiter, and nothing that it remembers. */
  get isUseless(): boolean {
    return !this.#working && this.#paused === 0 && this.waiters.size === 0 &&
      (this.#last?.isStale(this.#context.clock.now()) ?? true);
  }

  /** What was seen last. */
  get last(): Sighting | undefined {
    return this.#last;
  }

  /** Returns how this store object sees the document that it has seen last, at this moment. */
  #view(sighting: Sighting, cannotWatch: boolean, now: Instant, time = sighting.time): DocumentView {
    const { store, maxClockSkew, maxBytes, backend } = this.#context;
    return {
      store,
      owns: (handle, isKnown) => this.waiters.owns(handle, isKnown),
      graceMs: this.waiters.graceMs,
      now: sighting.at(now),
      least: sighting.earliest(now, this.#receivedAt ?? now) ?? sighting.at(now),
      time,
      skew: time === undefined || backend.severalClocks ? maxClockSkew : 0,
      cannotWatch,
      seenFor: (sign) => this.#observations.seenFor(sign, now),
      isLarge: () => sighting.isLongerThan(maxBytes * LARGE),
    };
  }

  /** Returns how this store object sees the document now, without asking the server for its clock. */
  get present(): DocumentView | undefined {
    if (this.#last === undefined) return undefined;
    const now = this.#context.clock.now();
    return this.#view(this.#last, false, now, this.#last.earliest(now, this.#receivedAt!));
  }

  /** Changes the document, together with other calls; one write at a time. Resolves to the answer. */
  change<T>(change: DocumentChange<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#add({ change, resolve: resolve as PendingCall["resolve"], reject, retries: 0, pausedAt: undefined });
    });
  }

  /**
   * Notes what a watch has found that began at a moment, from this sighting on, if that is newer. Returns whether it is as
   * good as a read: not if all that watches have found lately may have come late.
   */
  watched(from: Sighting, { value, version }: WatchedDocument, begunAt: Instant, readMs: number): boolean {
    const sighting = from.replaced({ value, version }, begunAt);
    // It never falls, unless the document was removed.
    if (sighting.document.counter <= from.document.counter) return false;
    this.#saw(sighting);
    return elapsed(this.#askedAt ?? begunAt, this.#context.clock.now()) < readMs;
  }

  #add(call: PendingCall): void {
    this.#calls.push(call);
    if (!this.#working) void this.#work();
  }

  async #work(): Promise<void> {
    this.#working = true;
    while (this.#calls.length > 0) {
      await this.#answer(this.#calls.splice(0));
    }
    this.#working = false;
  }

  /** Answers calls, with as few trips as possible. Those that pause are answered later. */
  async #answer(calls: readonly PendingCall[]): Promise<void> {
    const { clock } = this.#context;
    try {
      let seen = this.#remembered();
      let source: "memory" | "read" | "refusal" = seen === undefined ? "read" : "memory";
      seen ??= await this.#read();
      while (calls.length > 0) {
        const now = clock.now();
        const plan = this.#plan(seen, calls, now);
        if (source === "memory" && (plan.needs === "read" || plan.mayBeOver)) {
          seen = await this.#read();
          source = "read";
          continue;
        }
        const isAnswered = plan.needs === "read" || plan.needs === "sight" ||
          plan.needs === "proof" && source === "refusal";
        if (isAnswered) return settle(plan);
        const refusal = await this.#write(seen, plan, now);
        if (refusal === undefined) return settle(plan);
        const contended = source !== "memory";
        source = refusal.found === undefined ? "read" : "refusal";
        seen = refusal.found ?? await this.#read();
        if (contended) calls = this.#pause(calls, seen);
      }
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
  }

  #remembered(): Sighting | undefined {
    return this.#last?.isStale(this.#context.clock.now()) === false ? this.#last : undefined;
  }

  #plan(seen: Sighting, calls: readonly PendingCall[], now: Instant): Plan {
    // One whose clocks have moved apart since it read does not go by them.
    const cannotWatch = !seen.isStale(now) && calls.some(({ change }) => change.cannotWatch);
    return planOf(this.name, seen, calls, this.#view(seen, cannotWatch, now), this.#context.maxBytes);
  }

  async #read(): Promise<Sighting> {
    const { backend, clock } = this.#context;
    const sentAt = clock.now();
    const found = await this.#inTime(backend.read(this.name), "read", sentAt);
    return this.#saw(new Sighting(this.name, found, sentAt));
  }

  /** Writes a planned document. Resolves to what is there instead, if that is said, when the write is refused. */
  async #write(
    seen: Sighting,
    plan: Plan,
    sentAt: Instant,
  ): Promise<{ readonly found: Sighting | undefined } | undefined> {
    const { backend } = this.#context;
    const { document, notBefore, notify, now } = plan;
    document.used = now;
    const value = formatDocument(this.name, document);
    this.#noteLeases(document, sentAt);
    // Until it is answered it is not known what is there.
    this.#last = undefined;
    const request = backend.write(this.name, value, seen.version, { notBefore, notify });
    const reply = await this.#inTime(request, "write", sentAt);
    if (!reply.written) {
      return { found: reply.found && this.#saw(seen.replaced(reply.found, sentAt)) };
    }
    const { version, time } = reply;
    this.#saw(seen.replaced({ value, version, time }, sentAt, document));
    return undefined;
  }

  #saw(sighting: Sighting): Sighting {
    const { document } = sighting;
    this.#last = sighting;
    this.#receivedAt = this.#context.clock.now();
    this.#observations.note(document, this.#receivedAt);
    this.#noteLeases(document, this.#receivedAt);
    this.#sighted(this, document);
    return sighting;
  }

  #noteLeases({ holders }: LockDocument, at: Instant): void {
    this.#leases = { ms: Array.from(holders.values(), ({ lease }) => lease), at };
  }

  /**
   * Returns how long a request may take: a third of the shortest lease, as renewals wait for it. A lease that was not seen
   * for as long as it lasts does not count: nobody here renews it, and the network may be too slow for it.
   */
  #answerMs(sentAt: Instant): number {
    const { ms = [], at = sentAt } = this.#leases ?? {};
    const age = elapsed(at, sentAt);
    return ms.reduce((least, lease) => lease < age ? least : Math.min(least, lease / 3), ANSWER_MS);
  }

  async #inTime<T>(request: Promise<T>, what: string, sentAt: Instant): Promise<T> {
    const ms = this.#answerMs(sentAt);
    try {
      const reply = await within(ms, request, this.#context.clock, sentAt);
      this.#askedAt = sentAt;
      return reply;
    } catch (error) {
      throw error === LATE ? new Error(`no answer to a ${what} within ${Math.round(ms)} ms`) : error;
    }
  }

  /** Returns the calls that are urgent. The others pause, and are answered later, or fail if that takes too long. */
  #pause(calls: readonly PendingCall[], { document }: Sighting): readonly PendingCall[] {
    const { clock, random } = this.#context;
    const now = clock.now();
    const urgent: PendingCall[] = [];
    for (const call of calls) {
      const retries = call.retries++;
      call.pausedAt ??= now;
      if (elapsed(call.pausedAt, now) > LONGEST_CONTENTION_MS) {
        const why = `others wrote it first, ${call.retries} times within ${LONGEST_CONTENTION_MS} ms`;
        call.reject(new StoreError(`Cannot write the document of lock "${this.name}": ${why}`));
      } else if (retries < AT_ONCE && call.change.isUrgent(document)) {
        urgent.push(call);
      } else {
        this.#paused++;
        void clock.sleep(random() * backoffMs(retries, FIRST_PAUSE_MS, LONGEST_PAUSE_MS)).then(() => {
          this.#paused--;
          this.#add(call);
        });
      }
    }
    return urgent;
  }
}
