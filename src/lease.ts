import { type Clock, elapsed, type Instant, type Timer } from "./internal/time/clock.ts";
import { Deadline } from "./internal/lease/deadline.ts";
import { connectionWords, storeError } from "./internal/failure.ts";
import { checkHandle } from "./internal/lease/forgotten_handle.ts";
import { overdue } from "./internal/time/overdue.ts";
import { numbered, type RenewalOutcome, resized, sendRenewal } from "./internal/lease/renewal.ts";
import { type RenewalInterval, RenewalSchedule } from "./internal/lease/renewal_schedule.ts";
import type { ShortLivedSet } from "./internal/process/short_lived.ts";
import { type HeldLease, leasesOf } from "./internal/lease/store_state.ts";
import { unlessAborted, type WaitScope } from "./internal/time/wait_scope.ts";
import { LockLostError } from "./errors.ts";
import { isObserved, type LossReason, notify } from "./events.ts";
import { checkExtension } from "./options.ts";
import type { Claim, Store } from "./store.ts";

/**
 * Where a lease is in its life:
 *
 * - `requested`: the attempt was sent. It is answered by {@linkcode Lease.begin} or {@linkcode Lease.end}.
 * - `held`: the store granted it. It is renewed at an interval.
 * - `released`: its holder gave it back, or the attempt was not granted. It may still turn out to be lost.
 * - `lost`: it ended before its holder gave it back, or may have.
 */
type Phase = "requested" | "held" | "released" | "lost";

/** How long a store may take to answer an attempt, in milliseconds, before that counts as failed. */
export const ANSWER_LIMIT_MS = 10_000;

/**
 * A lease: until when its holder may trust the lock, and what prolongs that.
 *
 * From `begin()` on it is renewed at an interval, until `end()` or its loss. The {@linkcode Deadline} counts from before
 * the request was sent; a renewal moves it. A renewal whose outcome is unknown neither moves it nor ends the lease, and
 * is retried. The {@linkcode RenewalSchedule} says when the next renewal is due.
 *
 * One timer serves the next renewal and the deadline, and before `begin()` limits how long an attempt may take. Signals
 * are made when they are first needed: in Node, one takes longer than the rest of an uncontended acquire.
 */
export class Lease implements HeldLease {
  readonly #store: Store;
  readonly #clock: Clock;
  #claim: Claim;
  #phase: Phase = "requested";
  #fence = 0n;
  /** When its grant was answered; before that, when the attempt was sent. */
  #begunAt: Instant;
  readonly #deadline: Deadline;
  readonly #schedule: RenewalSchedule;
  /** Fires when the next renewal is due or, if that comes first, at the deadline. */
  #timer: Timer | undefined;
  /** Fires when the answer to the attempt is late. */
  #answerTimer: Timer | undefined;
  /** The wait whose attempt this is, until that is answered. */
  #scope: WaitScope | undefined;
  #renewing: Promise<RenewalOutcome> | undefined;
  /** How renewals have failed since the last one that was answered. */
  #fault: unknown;
  #loss: LockLostError | undefined;
  /** The leases that this process holds from the store, with this one. */
  #leases: ShortLivedSet<HeldLease> | undefined;
  /** The object that its user has, or a weak reference to it. */
  #handle: object | undefined;
  /** Aborts when the lease is lost. */
  #lost: AbortController | undefined;
  /** Aborts when the lease ends, however that is: whatever goes on for the sake of the lease goes on until then. */
  #ended: AbortController | undefined;

  /** Prepares the lease for an attempt that is sent at that moment. If it is not answered in time, `scope` abandons it. */
  constructor(store: Store, claim: Claim, interval: RenewalInterval, sentAt: Instant, clock: Clock, scope?: WaitScope) {
    this.#store = store;
    this.#clock = clock;
    this.#claim = claim;
    this.#begunAt = sentAt;
    this.#scope = scope;
    const trusted = this.#trustedMs();
    this.#deadline = new Deadline(sentAt, trusted);
    this.#schedule = new RenewalSchedule(interval, sentAt, trusted);
    this.#setTimer(sentAt);
  }

  /**
   * Begins the lease when it is granted, with that fence. Returns false when the answer came after the deadline.
   *
   * @param age how much of the lease had passed when the attempt was sent, in milliseconds
   */
  begin(fence: bigint, age = 0): boolean {
    this.#scope = undefined;
    this.#answerTimer?.cancel();
    if (age > 0) {
      this.#deadline.age(age);
      this.#schedule.age(age);
      this.#timer?.cancel();
      this.#timer = undefined;
    }
    const now = this.#clock.now();
    if (this.#deadline.left(now) <= 0) {
      this.#end("released");
      return false;
    }
    this.#phase = "held";
    this.#fence = fence;
    this.#begunAt = now;
    if (this.#timer === undefined) this.#setTimer(now);
    this.#leases = leasesOf(this.#store).add(this);
    return true;
  }

  /** The object that its user has, which alone can release the lock. From the first renewal on it may become garbage. */
  set handle(handle: object) {
    this.#handle = handle;
  }

  /** The claim, with the lease as it is now. */
  get claim(): Claim {
    return this.#claim;
  }

  /** The fence of the grant; 0 before. */
  get fence(): bigint {
    return this.#fence;
  }

  /** Returns for how many milliseconds the lock had been held at that moment. */
  heldFor(now: Instant): number {
    return elapsed(this.#begunAt, now);
  }

  /** Whether the lease is neither lost nor released. */
  get held(): boolean {
    this.#loseIfOver();
    return this.#phase === "held";
  }

  /** Why the lease was lost, if it was. */
  get lost(): LockLostError | undefined {
    return this.lostAt(this.#clock.now());
  }

  /** Returns why the lease was lost, if it was, for a caller that has just read the clock. */
  lostAt(now: Instant): LockLostError | undefined {
    this.#loseIfOver(now);
    return this.#loss;
  }

  /** Milliseconds until the deadline; 0 when the lease is lost or released. */
  get remaining(): number {
    return this.held ? this.#deadline.left(this.#clock.now()) : 0;
  }

  /** Aborts when the lease is lost. */
  get signal(): AbortSignal {
    this.#loseIfOver();
    if (this.#lost === undefined) {
      this.#lost = new AbortController();
      if (this.#loss !== undefined) this.#lost.abort(this.#loss);
      else if (this.#phase === "held") this.#watchRevocation();
    }
    return this.#lost.signal;
  }

  /** The renewal that is in flight, if one is. */
  get renewing(): Promise<unknown> | undefined {
    return this.#renewing;
  }

  /** Renews now, for `length` milliseconds from now on. */
  async extend(length: number = this.#claim.lease): Promise<void> {
    checkExtension(length, this.#claim.lease);
    this.#schedule.check(length);
    // One renewal at a time: if two crossed on the wire, the shorter lease could be the one that lasts.
    while (this.#renewing !== undefined && this.held) await this.#unlessEnded(this.#renewing);
    if (this.held) {
      this.#claim = resized(this.#claim, length);
      this.#schedule.follow(length);
      // A store may hang for longer than the lease lasts.
      const outcome = await this.#unlessEnded(this.#renew());
      if (outcome === "unknown" && this.held) {
        throw storeError(this.#store, `Cannot extend lock "${this.#claim.name}" by ${length} ms`, this.#fault);
      }
    }
    if (this.lost !== undefined) throw this.lost;
    if (!this.held) throw new LockLostError(`Cannot extend lock "${this.#claim.name}": it was released`);
  }

  /** Ends the lease because its holder releases the lock, or because the attempt was not granted. */
  end(): void {
    if (this.#phase !== "lost") this.#end("released");
  }

  /**
   * Notes that the store did not know the lock when its holder released it. Before the deadline that means that the lock
   * was revoked, and the error is returned. After the deadline it means that the release took longer than the lease.
   */
  disown(): LockLostError | undefined {
    if (this.#deadline.left(this.#clock.now()) > 0) {
      this.#lose("missing", "the store did not know it any more when it was released");
    }
    return this.#loss;
  }

  /** Returns how long a lease is trusted from the sending of its request: clocks drift apart. */
  #trustedMs(): number {
    return this.#claim.lease - this.#store.drift(this.#claim.lease);
  }

  /** Sets the one timer: to the next renewal or, if that comes first or is already under way, to the deadline. */
  #setTimer(now = this.#clock.now()): void {
    this.#timer?.cancel();
    const renewal = this.#renewing === undefined ? this.#schedule.dueIn(now) : Infinity;
    const left = this.#deadline.left(now);
    const soonest = this.#phase === "requested" ? Math.min(renewal, ANSWER_LIMIT_MS) : renewal;
    // Of many leases some may be renewed a bit late; none may be trusted too long.
    this.#timer = this.#clock.timer(Math.min(soonest, left), () => this.#onTimer(), now, left);
  }

  #onTimer(): void {
    this.#timer = undefined;
    this.#loseIfOver();
    switch (this.#phase) {
      case "requested":
        this.#answerTimer = overdue(
          ANSWER_LIMIT_MS,
          () => this.#scope?.abandon(),
          this.#clock,
          this.#schedule.sentAt,
        );
        break;
      case "held":
        if (this.#renewing !== undefined || this.#schedule.dueIn(this.#clock.now()) > 0) return this.#setTimer();
        // A reader of the signal is notified of a loss, and may rely on the lock without its handle.
        if (this.#lost === undefined) this.#handle = checkHandle(this.#handle, this.#claim.name);
        void this.#renew();
    }
  }

  /** Sends one renewal; never rejects. */
  #renew(): Promise<RenewalOutcome> {
    const sentAt = this.#clock.now();
    this.#claim = numbered(this.#claim);
    // A shorter lease counts from now, whatever the answer: the store may have taken it and the reply got lost.
    this.#deadline.shorten(sentAt, this.#trustedMs());
    this.#schedule.sent(sentAt);
    const limitMs = this.#schedule.answerLimitMs(this.#deadline.left(sentAt));
    const limit = { clock: this.#clock, sentAt, limitMs, signal: this.#untilEnd() };
    const sent = sendRenewal(this.#store, this.#claim, limit, (error) => {
      this.#fault = error;
      notify(this.#store, this.#claim, { type: "fault", operation: "renew", error });
    });
    this.#renewing = sent.then((outcome) => {
      this.#renewing = undefined;
      this.#renewed(outcome, sentAt);
      return outcome;
    });
    this.#setTimer();
    return this.#renewing;
  }

  /** Goes on after a renewal, sent at that moment. */
  #renewed(outcome: RenewalOutcome, sentAt: Instant): void {
    // The answer may have come after the deadline: then it is too late, whatever it says.
    if (!this.held) return;
    const now = this.#clock.now();
    switch (outcome) {
      case "lost":
        return this.#lose("missing", "the store does not know it any more");
      case "unknown":
        this.#schedule.failed(now, this.#deadline.left(now));
        break;
      case "renewed": {
        this.#fault = undefined;
        this.#deadline.move(sentAt, this.#trustedMs());
        this.#schedule.renewed(this.#trustedMs());
        if (isObserved(this.#store)) {
          notify(this.#store, this.#claim, { type: "renewed", remaining: this.#deadline.left(now) });
        }
      }
    }
    if (this.#phase === "held") this.#setTimer();
  }

  /** Ends the lease if its deadline has passed: after a pause of the process this is known before any timer has run. */
  #loseIfOver(now?: Instant): void {
    if (this.#phase !== "held" || this.#deadline.left(now ?? this.#clock.now()) > 0) return;
    const why = `its lease of ${this.#claim.lease} ms ended before it was renewed${connectionWords(this.#store)}`;
    this.#lose("expired", why, this.#store.connectionError ?? this.#fault);
  }

  #lose(reason: LossReason, why: string, cause?: unknown): void {
    const error = new LockLostError(`Lost lock "${this.#claim.name}": ${why}`, cause === undefined ? {} : { cause });
    this.#loss = error;
    this.#end("lost");
    this.#lost?.abort(error);
    const held = this.heldFor(this.#clock.now());
    notify(this.#store, this.#claim, { type: "lost", reason, fence: this.#fence, held, error });
  }

  /** Ends the lease: nothing goes on for its sake any more. */
  #end(phase: "released" | "lost"): void {
    this.#leases?.delete(this);
    this.#phase = phase;
    this.#handle = undefined;
    this.#answerTimer?.cancel();
    this.#timer?.cancel();
    this.#timer = undefined;
    // A reason of our own: the default is an error with a stack.
    this.#ended?.abort("ended");
  }

  /** Aborts when the lease ends. Only for what runs while the lease is held. */
  #untilEnd(): AbortSignal {
    this.#ended ??= new AbortController();
    return this.#ended.signal;
  }

  /** Settles like the promise; resolves to `undefined` as soon as the lease has ended. */
  async #unlessEnded<T>(promise: Promise<T>): Promise<T | undefined> {
    return await unlessAborted(promise, this.#untilEnd()).catch(() => undefined);
  }

  /** Asks to be notified when the lock is revoked. Only for a holder that reads its signal, as it takes a connection. */
  #watchRevocation(): void {
    const ended = this.#untilEnd();
    // If the store fails here, the next renewal finds out.
    this.#store.revocation?.(this.#claim, ended).then((by) => {
      const who = by === undefined ? "" : ` by ${JSON.stringify(by)}`;
      if (!ended.aborted && this.held) this.#lose("revoked", `it was taken away${who}`);
    }, () => {});
  }
}
