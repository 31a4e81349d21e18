import { type Clock, elapsed, type Instant, type Timer } from "./_clock.ts";
import { unlessAborted } from "./_limit.ts";
import { LockLostError, StoreError } from "./errors.ts";
import { tell } from "./observer.ts";
import { checkInterval, checkLease, defaultInterval, type Settings } from "./options.ts";
import type { Claim, Store } from "./store.ts";

/** How a renewal ended, as the holder sees it: after an error or a time-out nobody knows. */
type Outcome = "renewed" | "lost" | "unknown";

/** The first pause after a renewal that failed, as a part of the interval; it doubles up to one interval. */
const FIRST_RETRY = 1 / 8;

/** The longest such pause, as a part of what is left of the lease, so that there is time for another try. */
const LAST_RETRIES = 1 / 2;

/**
 * A lease: until when the holder may believe that it holds the lock.
 *
 * Every deadline counts from *before* the request that the store granted was sent, less the store's clock allowance:
 * the store's own lease began later, so the holder's ends first. The watchdog moves the deadline forward; a renewal
 * whose outcome is unknown neither moves it nor ends the lease, and is tried again. One timer serves both the next
 * renewal and the deadline.
 */
export class Lease {
  readonly #store: Store;
  readonly #clock: Clock;
  #claim: Claim;
  #interval: number;
  readonly #autoInterval: boolean;
  /** The lease is trusted for `#trusted` milliseconds from `#sentAt`. */
  #sentAt: Instant;
  #trusted: number;
  /** When the next renewal is due, in milliseconds from `#triedAt`. */
  #due: number;
  #triedAt: Instant;
  #failures = 0;
  #timer: Timer | undefined;
  #renewing: Promise<Outcome> | undefined;
  #begun = false;
  #ended = false;
  #lost: LockLostError | undefined;
  /** Made when somebody asks for the signal: most holders never do. */
  #controller: AbortController | undefined;
  /** Aborts when the lease ends, for those who wait for something meanwhile. */
  #over: AbortController | undefined;

  /** Prepares the lease that a request sent at `sentAt` may be granted. */
  constructor(store: Store, claim: Claim, settings: Settings, sentAt: Instant, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#claim = claim;
    this.#interval = settings.interval;
    this.#autoInterval = settings.autoInterval;
    this.#sentAt = this.#triedAt = sentAt;
    this.#trusted = claim.lease - store.drift(claim.lease);
    this.#due = this.#pace();
    this.#arm(sentAt);
  }

  /** Begins the lease when it is granted; gives false when the answer came after the deadline. */
  begin(): boolean {
    this.#begun = true;
    const now = this.#clock.now();
    if (this.#left(now) <= 0) this.#stop();
    else if (this.#timer === undefined) this.#arm(now);
    return !this.#ended;
  }

  /** The claim, with the lease as it is now. */
  get claim(): Claim {
    return this.#claim;
  }

  /** Why the lease ended before its holder gave it up, if it did. */
  get lost(): LockLostError | undefined {
    this.#check();
    return this.#lost;
  }

  /** Whether the lease is neither lost nor given up. */
  get held(): boolean {
    this.#check();
    return !this.#ended;
  }

  /** Milliseconds until the deadline; 0 when the lease is lost or given up. */
  get remaining(): number {
    this.#check();
    return this.#ended ? 0 : this.#left(this.#clock.now());
  }

  /** Aborts when the lease is lost. */
  get signal(): AbortSignal {
    this.#check();
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#lost !== undefined) this.#controller.abort(this.#lost);
      else if (!this.#ended) this.#watch();
    }
    return this.#controller.signal;
  }

  /** Renews now, for `length` milliseconds from now on. */
  async extend(length: number = this.#claim.lease): Promise<void> {
    checkLease(length);
    if (!this.#autoInterval && this.#interval !== Infinity) checkInterval(this.#interval, length);
    // One renewal at a time: if two crossed on the wire, the shorter lease could be the one that lasts.
    while (this.#renewing !== undefined && this.held) await this.#unlessOver(this.#renewing);
    if (this.held) {
      this.#claim = { ...this.#claim, lease: length };
      if (this.#autoInterval) this.#interval = defaultInterval(length);
      // A store may hang for longer than the lease lasts.
      const outcome = await this.#unlessOver(this.#renew());
      if (outcome === "unknown" && this.held) {
        throw new StoreError(`Cannot extend lock "${this.#claim.name}" by ${length} ms: the store did not answer`);
      }
    }
    if (this.lost !== undefined) throw this.lost;
    if (this.#ended) throw new LockLostError(`Cannot extend lock "${this.#claim.name}": it was released`);
  }

  /** The renewal that is in flight, if one is. */
  get renewing(): Promise<unknown> | undefined {
    return this.#renewing;
  }

  /** Ends the lease because its holder gives it up. */
  end(): void {
    this.#stop();
  }

  /**
   * To be told when the store did not know the lock that its holder gave up. Before the deadline that means that
   * somebody took it away, and gives the error; after it, that the release took longer than the lease.
   */
  disown(): LockLostError | undefined {
    if (this.#left(this.#clock.now()) > 0) this.#lose("the store did not know it any more when it was released");
    return this.#lost;
  }

  /** Hears at once when the lock is taken away; only for those who want to know, because it takes a connection. */
  #watch(): void {
    const over = this.#whenOver();
    // What goes wrong here is made up for by the next renewal.
    this.#store.eviction?.(this.#claim, over).then(() => {
      if (!over.aborted && this.held) this.#lose("it was taken away");
    }, () => {});
  }

  /** Settles like the promise, or as soon as the lease is over. */
  async #unlessOver<T>(promise: Promise<T>): Promise<T | undefined> {
    return await unlessAborted(promise, this.#whenOver()).catch(() => undefined);
  }

  #whenOver(): AbortSignal {
    this.#over ??= new AbortController();
    return this.#over.signal;
  }

  #stop(): void {
    this.#ended = true;
    // A reason of our own: the default is an error with a stack.
    this.#over?.abort("over");
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #lose(why: string): void {
    this.#stop();
    const { name, owner } = this.#claim;
    this.#lost = new LockLostError(`Lost lock "${name}": ${why}`);
    this.#controller?.abort(this.#lost);
    tell(this.#store.observer, { type: "lost", name, owner, error: this.#lost });
  }

  /** A process that slept past the deadline finds out here, before any of its timers has run. */
  #check(): void {
    if (this.#begun && !this.#ended && this.#left(this.#clock.now()) <= 0) {
      this.#lose(`its lease of ${this.#claim.lease} ms ended before it was renewed`);
    }
  }

  #left(now: Instant): number {
    return this.#trusted - elapsed(this.#sentAt, now);
  }

  /** Sets the one timer: to the next renewal or, if that comes first or is already under way, to the deadline. */
  #arm(now = this.#clock.now()): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#ended) return;
    const renewal = this.#renewing === undefined ? this.#due - elapsed(this.#triedAt, now) : Infinity;
    const left = this.#left(now);
    // Of many leases some may be renewed a bit late; none may be believed too long.
    this.#timer = this.#clock.timer(Math.min(renewal, left), () => this.#tick(), now, left);
  }

  #tick(): void {
    this.#timer = undefined;
    this.#check();
    if (this.#ended || !this.#begun) return;
    if (this.#renewing === undefined && elapsed(this.#triedAt, this.#clock.now()) >= this.#due) void this.#renew();
    else this.#arm();
  }

  /** Sends one renewal; never rejects. */
  #renew(): Promise<Outcome> {
    const sentAt = this.#clock.now();
    const trusted = this.#claim.lease - this.#store.drift(this.#claim.lease);
    // A shorter lease counts from now, whatever the answer: the store may have taken it and the reply got lost.
    if (trusted < this.#left(sentAt)) {
      this.#sentAt = sentAt;
      this.#trusted = trusted;
    }
    this.#triedAt = sentAt;
    const settled = this.#send().then((outcome) => {
      this.#renewing = undefined;
      this.#failures = outcome === "unknown" ? this.#failures + 1 : 0;
      // The answer may have come after the deadline: then it is too late, whatever it says.
      this.#check();
      if (this.#ended) return outcome;
      if (outcome === "lost") this.#lose("the store does not know it any more");
      if (outcome === "renewed") {
        this.#sentAt = sentAt;
        this.#trusted = trusted;
        const { name, owner } = this.#claim;
        tell(this.#store.observer, { type: "renewed", name, owner, remaining: this.#left(this.#clock.now()) });
      }
      const again = outcome === "unknown" && this.#interval !== Infinity;
      this.#due = again ? elapsed(sentAt, this.#clock.now()) + this.#pause() : this.#pace();
      this.#arm();
      return outcome;
    });
    this.#renewing = settled;
    this.#arm();
    return settled;
  }

  /** Milliseconds from one renewal to the next; one that comes after the deadline would be none. */
  #pace(): number {
    return this.#interval < this.#trusted || this.#interval === Infinity ? this.#interval : this.#trusted / 2;
  }

  /** How long to wait after a renewal that failed: not too often, but while there is time. */
  #pause(): number {
    const pause = this.#interval * Math.min(1, FIRST_RETRY * 2 ** (this.#failures - 1));
    return Math.max(1, Math.min(pause, this.#left(this.#clock.now()) * LAST_RETRIES));
  }

  async #send(): Promise<Outcome> {
    try {
      return await this.#store.renew(this.#claim);
    } catch (error) {
      const { name, owner } = this.#claim;
      tell(this.#store.observer, { type: "fault", name, owner, operation: "renew", error });
      return "unknown";
    }
  }
}
