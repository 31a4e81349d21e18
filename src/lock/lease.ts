import { type Clock, type Instant, monotonicMs, type Timer } from "../time/clock.ts";
import { unlessAborted } from "../time/wait_scope.ts";
import { connectionWords, storeError } from "../internal/failure.ts";
import { checkHandle } from "./lease/forgotten_handle.ts";
import type { RenewalOutcome } from "../contract/release.ts";
import { LeaseTimes, type RenewalInterval } from "./lease/lease_times.ts";
import { Renewals, trustedMs } from "./lease/renewals.ts";
import { type HeldLease, leasesOf } from "./lease/held_leases.ts";
import { LockLostError } from "../contract/errors.ts";
import type { LossReason } from "../contract/events.ts";
import { isObserved, notify } from "../internal/process/notify.ts";
import { checkExtension } from "./options.ts";
import type { Claim, Store } from "../contract/store.ts";

interface LeaseGrant {
  readonly fence: bigint;
  readonly at: Instant;
}

/**
 * A lease: until when its holder may trust the lock, and the renewals that prolong it.
 *
 * From `begin()` on it is renewed at an interval, until `end()` or its loss. The {@linkcode LeaseTimes} say when it is
 * over, and when the next of its {@linkcode Renewals} is due.
 *
 * One timer serves renewals and deadline. Signals are made when they are first needed: in Node, making a signal takes
 * longer than the rest of an uncontended acquire.
 */
export class Lease implements HeldLease {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #claim: Claim;
  readonly #times: LeaseTimes;
  #grant: LeaseGrant | undefined;
  /** How it ended: its holder gave it back, or it was lost. That may turn out after the release. */
  #over: "released" | LockLostError | undefined;
  /** Fires when a renewal is due or, if that comes first or a renewal is in flight, at the deadline. */
  #timer: Timer | undefined;
  /** The renewals; `undefined` before the first. */
  #renewals: Renewals | undefined;
  /** The handle of the caller, or a weak reference to it. */
  #handle: object | undefined;
  /** Aborts when the lease is lost. */
  #lost: AbortController | undefined;
  /** Aborts when the lease ends, for whatever reason. Work for the sake of the lease goes on until then. */
  #ended: AbortController | undefined;

  /** Prepares the lease for an attempt that is sent at `sentAt`. */
  constructor(store: Store, claim: Claim, interval: RenewalInterval, sentAt: Instant, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#claim = claim;
    this.#times = new LeaseTimes(interval, sentAt, trustedMs(store, claim));
  }

  /**
   * Begins the lease when it is granted, with `fence`. Returns false when the answer came after the deadline.
   *
   * @param age how much of the lease had passed when the attempt was sent, in milliseconds
   */
  begin(fence: bigint, age = 0): boolean {
    if (age > 0) this.#times.age(age);
    const now = this.#clock.now();
    if (this.#times.left(now) <= 0) return false;
    this.#grant = { fence, at: now };
    this.#setTimer(now);
    leasesOf(this.#store).add(this);
    return true;
  }

  /** The handle of the caller, which alone can release the lock. From the first renewal on it may become garbage. */
  set handle(handle: object) {
    this.#handle = handle;
  }

  /** The claim, with the lease as it is now. */
  get claim(): Claim {
    return this.#renewals?.claim ?? this.#claim;
  }

  /** The fence of the grant; 0 before. */
  get fence(): bigint {
    return this.#grant?.fence ?? 0n;
  }

  /** Returns for how many milliseconds the lock had been held at `now`. */
  heldFor(now: Instant): number {
    return this.#grant === undefined ? 0 : monotonicMs(this.#grant.at, now);
  }

  /** Whether the lease is neither lost nor released. */
  get held(): boolean {
    this.#loseIfOver();
    return this.#isHeld;
  }

  get #isHeld(): boolean {
    return this.#grant !== undefined && this.#over === undefined;
  }

  get #loss(): LockLostError | undefined {
    return this.#over === "released" ? undefined : this.#over;
  }

  /** Returns why the lease was lost, if it was. `now` is for a caller that has just read the clock. */
  lostAt(now?: Instant): LockLostError | undefined {
    this.#loseIfOver(now);
    return this.#loss;
  }

  /** Milliseconds until the deadline; 0 when the lease is lost or released. */
  get remaining(): number {
    return this.held ? this.#times.left(this.#clock.now()) : 0;
  }

  /** Aborts when the lease is lost. */
  get signal(): AbortSignal {
    this.#loseIfOver();
    if (this.#lost === undefined) {
      this.#lost = new AbortController();
      if (this.#loss !== undefined) this.#lost.abort(this.#loss);
      else if (this.#isHeld) this.#watchRevocation();
    }
    return this.#lost.signal;
  }

  get renewing(): Promise<unknown> | undefined {
    return this.#renewals?.inFlight;
  }

  /** Renews now, for `length` milliseconds from now on. */
  async extend(length: number = this.claim.lease): Promise<void> {
    checkExtension(length, this.claim.lease);
    this.#times.check(length);
    const renewals = this.#renewalsOf();
    // One renewal at a time: if two crossed on the wire, the shorter lease could be the one that lasts.
    while (renewals.inFlight !== undefined && this.held) await this.#unlessEnded(renewals.inFlight);
    if (this.held) {
      renewals.resize(length);
      // A store may hang for longer than the lease lasts.
      const outcome = await this.#unlessEnded(this.#renew());
      if (outcome === "unknown" && this.held) {
        throw storeError(this.#store, `Cannot extend lock "${this.#claim.name}" by ${length} ms`, renewals.fault);
      }
    }
    const lost = this.lostAt();
    if (lost !== undefined) throw lost;
    if (!this.held) throw new LockLostError(`Cannot extend lock "${this.#claim.name}": it was released`);
  }

  /** Ends the lease because its holder releases the lock, or because the attempt was not granted. */
  end(): void {
    if (this.#loss === undefined) this.#end("released");
  }

  /**
   * Records that the store did not know the lock when its holder released it. Before the deadline this means that the
   * lock was revoked: returns the error. After the deadline the release took longer than the lease.
   */
  disown(): LockLostError | undefined {
    if (this.#times.left(this.#clock.now()) > 0) {
      this.#lose("missing", "the store no longer had it when it was released");
    }
    return this.#loss;
  }

  /** Sets the timer to the next renewal or, if that comes first or a renewal is in flight, to the deadline. */
  #setTimer(now = this.#clock.now()): void {
    this.#timer?.cancel();
    const renewal = this.renewing === undefined ? this.#times.dueIn(now) : Infinity;
    const left = this.#times.left(now);
    // Of many leases some may be renewed a bit late; none may be trusted too long.
    this.#timer = this.#clock.timer(Math.min(renewal, left), () => this.#onTimer(), now, left);
  }

  #onTimer(): void {
    this.#timer = undefined;
    if (!this.held) return;
    if (this.renewing === undefined && this.#times.dueIn(this.#clock.now()) <= 0) leasesOf(this.#store).renew(this);
    else this.#setTimer();
  }

  /** Renews at the interval. */
  renew(): void {
    // The lease may have ended, or its holder has renewed it, since it was due.
    if (!this.held || this.renewing !== undefined) return;
    // A reader of the signal is notified of a loss, and may rely on the lock without its handle.
    if (this.#lost === undefined) this.#handle = checkHandle(this.#handle, this.#claim.name);
    void this.#renew();
  }

  #renewalsOf(): Renewals {
    return this.#renewals ??= new Renewals(this.#store, this.#claim, this.#times, this.#clock);
  }

  /** Sends one renewal; never rejects. */
  async #renew(): Promise<RenewalOutcome> {
    const sent = this.#renewalsOf().send((error) => {
      notify(this.#store, this.claim, { type: "fault", operation: "renew", error });
    });
    this.#setTimer();
    const outcome = await sent;
    if (!this.held) return outcome;
    if (outcome === "lost") this.#lose("missing", "the store no longer has it");
    else this.#setTimer();
    if (outcome === "renewed" && isObserved(this.#store)) {
      notify(this.#store, this.claim, { type: "renewed", remaining: this.#times.left(this.#clock.now()) });
    }
    return outcome;
  }

  /** Ends the lease if its deadline has passed: after a pause of the process, callers come before any timer. */
  #loseIfOver(now?: Instant): void {
    if (!this.#isHeld || this.#times.left(now ?? this.#clock.now()) > 0) return;
    const why = `its lease of ${this.claim.lease} ms ended before it was renewed${connectionWords(this.#store)}`;
    this.#lose("expired", why, this.#store.connectionError ?? this.#renewals?.fault);
  }

  #lose(reason: LossReason, why: string, cause?: unknown): void {
    const error = new LockLostError(`Lost lock "${this.#claim.name}": ${why}`, cause === undefined ? {} : { cause });
    this.#end(error);
    this.#lost?.abort(error);
    const held = this.heldFor(this.#clock.now());
    notify(this.#store, this.claim, { type: "lost", reason, fence: this.fence, held, error });
  }

  /** Ends the lease, and all work for its sake. */
  #end(how: "released" | LockLostError): void {
    if (this.#isHeld) leasesOf(this.#store).delete(this);
    this.#over = how;
    this.#handle = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#renewals?.stop();
    // A reason of our own: the default is an error with a stack.
    this.#ended?.abort("ended");
  }

  /** Aborts when the lease ends. Only for work that goes on while the lease is held. */
  #untilEnd(): AbortSignal {
    this.#ended ??= new AbortController();
    return this.#ended.signal;
  }

  /** Resolves like a renewal, which never rejects; to `undefined` as soon as the lease has ended. */
  async #unlessEnded<T>(promise: Promise<T>): Promise<T | undefined> {
    return await unlessAborted(promise, this.#untilEnd()).catch(() => undefined);
  }

  /** Asks to be notified of a revocation. Only for a holder that reads its signal: this takes a connection. */
  #watchRevocation(): void {
    const ended = this.#untilEnd();
    // If the store fails here, the next renewal finds out.
    this.#store.revocation?.(this.#claim, ended).then((by) => {
      const who = by === undefined ? "" : ` by ${JSON.stringify(by)}`;
      if (!ended.aborted && this.held) this.#lose("revoked", `it was taken away${who}`);
    }, () => {});
  }
}
