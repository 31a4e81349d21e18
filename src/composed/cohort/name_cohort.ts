import type { Instant } from "../../internal/clock.ts";
import { type Attempt, type AttemptOptions, type Claim, handleOf, type Meta, type Renewal } from "../../store.ts";
import type { Answer, Ask } from "./ask.ts";
import { Asking, type AskingUser } from "./asking.ts";
import { busy, type GlobalHold, grantOf, type LocalHolder } from "./global_hold.ts";
import type { NameListing } from "./listing.ts";
import { LocalQueue, LocalWaiter } from "./local_queue.ts";
import { OwnTickets } from "./own_tickets.ts";
import { Sections } from "./sections.ts";
import type { Site } from "./site.ts";
import { Turns, type TurnsUser } from "./turns.ts";

/**
 * The handles of this process that want one lock. For all that wait in the local queue one {@linkcode Ask} is made, under
 * an id of its own. What it is granted they have in turn, see {@linkcode Turns}. Where sections are long, each handle
 * waits in the store by itself, see {@linkcode OwnTickets}.
 */
export class NameCohort implements AskingUser, TurnsUser {
  readonly #site: Site;
  readonly #queue = new LocalQueue();
  readonly #sections = new Sections();
  /** The handles that have a place of their own in the store. */
  readonly tickets: OwnTickets;
  readonly #turns: Turns;
  readonly #asking: Asking;
  #closed = false;
  /** The attempts that are neither in a queue nor a holder's. */
  #calls = 0;

  /** Begins with nobody. */
  constructor(site: Site, name: string) {
    this.#site = site;
    this.tickets = new OwnTickets(site, this.#sections);
    this.#asking = new Asking(site, name, this.#queue, this);
    this.#turns = new Turns(site, this.#queue, this.#sections, this);
  }

  /** Whether nobody has the lock or wants it, so that it may be forgotten. */
  get unused(): boolean {
    return this.#turns.hold === undefined && this.#asking.id === undefined && this.#queue.size === 0 &&
      this.#turns.holders.size === 0 && this.#calls === 0 && this.tickets.unused;
  }

  /** What is to be listed. */
  get listing(): NameListing {
    return {
      held: this.#turns.listing,
      waiting: [...this.#queue],
      asking: this.#asking.id,
      tickets: this.tickets.listing,
      known: this.#turns.hold !== undefined || this.#asking.isQueued || !this.tickets.unused,
    };
  }

  /** Attempts for a handle that may share the lock of the process. */
  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const now = this.#site.clock.now();
    this.#turns.dropEnded(now);
    const id = handleOf(claim);
    const holder = this.#turns.holders.get(id);
    if (holder !== undefined) return this.#call(this.#again(holder, claim, options, now));
    let waiter = this.#queue.get(id);
    if (waiter === undefined) {
      if (this.tickets.has(id) || !this.#joins(now)) {
        if (options.enqueue && this.tickets.isParked(id)) return Promise.resolve(busy(undefined));
        return this.#call(this.#passThrough(claim, options, false));
      }
      waiter = new LocalWaiter(claim, now);
      if (!options.enqueue) return this.#call(this.#try(waiter, now));
      this.#queue.add(waiter);
    }
    waiter.asked = now;
    const { hold } = this.#turns;
    // The usual way of a waiter whose turn it is, without a pause.
    if (hold?.next === waiter && hold.lease.isFresh(claim.lease, now)) {
      return Promise.resolve(this.#turns.grant(hold, waiter, now, now));
    }
    return this.#serve(waiter, now);
  }

  /** Attempts for a handle that cannot share the lock of the process, or is to steal it. */
  passThrough(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const id = handleOf(claim);
    const holder = this.#turns.holders.get(id);
    if (holder !== undefined) return this.#call(this.#again(holder, claim, options, this.#site.clock.now()));
    const waiter = this.#queue.get(id);
    if (waiter !== undefined) this.#site.track(this.#leave(waiter).catch(() => {}));
    return this.#call(this.#passThrough(claim, options, true));
  }

  async #passThrough(claim: Claim, options: AttemptOptions, stranger: boolean): Promise<Attempt> {
    const id = handleOf(claim);
    for (;;) {
      const attempt = await this.#send(claim, options, stranger);
      if (attempt.granted || "conflict" in attempt) this.tickets.forget(id);
      if (attempt.granted) {
        if (options.steal || !stranger) this.tickets.granted(claim);
        return attempt;
      }
      const { hold } = this.#turns;
      if (hold === undefined) return attempt;
      if (!hold.idle) {
        if (options.enqueue) hold.contended = true;
        return attempt;
      }
      // The process itself is in the way, and no handle needs it.
      await this.#turns.giveBack(hold).catch(() => {});
    }
  }

  /** Sends one attempt of a handle to the store. */
  async #send(claim: Claim, options: AttemptOptions, stranger: boolean): Promise<Attempt> {
    const ticket = options.enqueue ? this.tickets.attempted(claim, stranger) : undefined;
    try {
      const sent = this.#site.store.attempt(claim, options);
      if (options.steal) this.revoke();
      const attempt = await sent;
      if (ticket !== undefined) this.tickets.answered(ticket, "retryAfter" in attempt ? attempt.retryAfter : undefined);
      return attempt;
    } catch (error) {
      if (ticket !== undefined) this.tickets.failed(ticket);
      throw error;
    }
  }

  /** Renews for a handle. `undefined`: this is for the store. */
  renew(claim: Claim): Promise<Renewal> | undefined {
    const id = handleOf(claim);
    const holder = this.#turns.holders.get(id);
    if (holder !== undefined) return this.#turns.renew(holder, claim);
    this.tickets.renewed(claim);
    return undefined;
  }

  /** Releases for a handle. `undefined`: this is for the store. */
  release(claim: Claim): Promise<boolean> | undefined {
    const id = handleOf(claim);
    const holder = this.#turns.holders.get(id);
    if (holder !== undefined) return this.#turns.release(holder);
    const waiter = this.#queue.get(id);
    if (waiter !== undefined) return this.#leave(waiter);
    this.#site.tidy();
    return this.tickets.released(id)?.then(() => this.#site.store.release(claim));
  }

  /** Resolves when another attempt of a handle makes sense. `undefined`: this is for the store. */
  wakeup(claim: Claim, signal: AbortSignal): Promise<void> | undefined {
    const id = handleOf(claim);
    if (this.#turns.holders.get(id) !== undefined) return Promise.resolve();
    const waiter = this.#queue.get(id);
    if (waiter === undefined) return this.tickets.sleep(claim, signal);
    return waiter.sleep(signal, this.#turns.hold?.next === waiter || waiter.fault !== undefined);
  }

  /** Resolves soon after the lock of the process was revoked. `undefined`: this is for the store. */
  revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> | undefined {
    const hold = this.#turns.holders.get(handleOf(claim))?.hold;
    if (hold === undefined) return undefined;
    return this.#site.store.revocation?.(hold.lease.claim, signal).then((by) => {
      if (!signal.aborted) this.#turns.lost(hold);
      return by;
    });
  }

  /** Stops handing the lock on: this process revokes it. */
  revoke(): void {
    this.#asking.revocations++;
    this.#turns.detach();
    this.freed();
  }

  /** Gives the lock back if no handle has it. */
  giveBackUnheld(): Promise<void> {
    return this.#turns.giveBackUnheld();
  }

  /** Ends all that is done for several handles together: from now on each is for itself. */
  close(): void {
    this.#closed = true;
    this.#turns.dropEnded(this.#site.clock.now());
    this.#asking.drop();
    this.useOwnTickets();
    this.#turns.close();
  }

  /** Forgets handles that were never released, and whose leases have ended. */
  prune(now: Instant): void {
    this.#turns.dropEnded(now);
    this.tickets.prune(now);
    this.#queue.prune(now);
    if (this.#queue.size === 0) this.#asking.drop();
  }

  won(ask: Ask, { granted, sentAt }: Answer & { kind: "granted" }): GlobalHold {
    const once = ask.revocations !== this.#asking.revocations;
    return ask.hold = this.#turns.begin(ask.claim, granted, sentAt, once);
  }

  handOut(hold: GlobalHold): void {
    this.#turns.assign(hold, hold.since);
    if (hold.idle) this.#turns.giveBack(hold).catch(() => {});
  }

  freed(): void {
    this.#site.tidy();
    if (this.#turns.hold !== undefined || this.#closed || this.#queue.size === 0) return;
    const now = this.#site.clock.now();
    const first = this.#queue.first(now);
    if (first === undefined) return;
    if (this.#sections.areAsLongAs(this.#site.settings.keep)) this.useOwnTickets();
    else this.#asking.begin(first, now);
  }

  granted(): void {
    if (this.#queue.size === 0) this.#asking.drop();
  }

  failed(error: unknown, informed?: LocalWaiter): void {
    this.#queue.fail(error, informed);
  }

  /** Whether a newcomer joins the local queue. Where sections are long it does so only if the lock is at hand. */
  #joins(now: Instant): boolean {
    if (this.#closed) return false;
    const { hold } = this.#turns;
    if (hold?.idle && this.#queue.first(now) === undefined) {
      if (hold.left(now) > 0) return true;
      this.#turns.giveBack(hold).catch(() => {});
    }
    return !this.#sections.areAsLongAs(this.#site.settings.keep) && !this.tickets.hasStranger;
  }

  /** Keeps this from being forgotten while an attempt goes on. */
  async #call(attempt: Promise<Attempt>): Promise<Attempt> {
    this.#calls++;
    try {
      return await attempt;
    } finally {
      this.#calls--;
      this.#site.tidy();
    }
  }

  /** Attempts again for a handle that has the lock. */
  async #again(holder: LocalHolder, claim: Claim, options: AttemptOptions, calledAt: Instant): Promise<Attempt> {
    const { lease } = holder.hold;
    if (!holder.released && !lease.over) {
      // Not made shorter: the first attempt may come again late. Asked for anyway: the store may not have it any more.
      const length = Math.max(claim.lease, Math.ceil(lease.claim.lease - lease.age));
      const renewal = await this.#turns.renew(holder, { ...claim, lease: length, renewal: holder.renewal });
      if (renewal === "renewed") return grantOf(holder, calledAt);
    }
    this.#turns.forget(holder);
    return await (options.steal ? this.passThrough(claim, options) : this.attempt(claim, options));
  }

  /** Attempts once, for a handle that does not wait: under an id of its own, which nobody else waits for. */
  async #try(waiter: LocalWaiter, calledAt: Instant): Promise<Attempt> {
    const { hold } = this.#turns;
    const behind = this.#queue.first(calledAt) !== undefined;
    if (hold?.idle && !behind) {
      hold.next = waiter;
      if (hold.lease.isFresh(waiter.claim.lease, calledAt)) return this.#turns.grant(hold, waiter, calledAt, calledAt);
      const isReady = await this.#turns.prepare(hold, waiter);
      if (isReady) return this.#turns.grant(hold, waiter, calledAt, this.#site.clock.now());
      return await this.attempt(waiter.claim, { enqueue: false });
    }
    if (hold !== undefined || behind) return busy(hold);
    const answer = await this.#asking.once(waiter, calledAt);
    return "granted" in answer ? answer : this.#turns.grant(answer, waiter, calledAt, answer.since);
  }

  /** Grants the lock to a waiter if it is its turn; if the process does not have it, asks the store. */
  async #serve(waiter: LocalWaiter, calledAt: Instant): Promise<Attempt> {
    const id = handleOf(waiter.claim);
    for (let now = calledAt;;) {
      const holder = this.#turns.holders.get(id);
      if (holder !== undefined) return grantOf(holder, calledAt);
      if (waiter.fault !== undefined) {
        const { error } = waiter.fault;
        waiter.fault = undefined;
        throw error;
      }
      if (this.tickets.has(id)) return await this.#passThrough(waiter.claim, { enqueue: true }, false);
      const { hold } = this.#turns;
      if (this.#queue.get(id) !== waiter) return busy(hold);
      if (hold !== undefined) {
        this.#turns.assign(hold, now);
        if (hold.next !== waiter) return busy(hold);
        if (hold.lease.isFresh(waiter.claim.lease, now)) return this.#turns.grant(hold, waiter, calledAt, now);
        const isReady = await this.#turns.prepare(hold, waiter);
        now = this.#site.clock.now();
        if (isReady) return this.#turns.grant(hold, waiter, calledAt, now);
      } else {
        const refusal = await this.#asking.answerFor(waiter, now);
        if (refusal !== undefined) return refusal;
        now = waiter.asked;
      }
    }
  }

  /** Has a waiter leave the local queue. */
  async #leave(waiter: LocalWaiter): Promise<boolean> {
    this.#queue.delete(waiter);
    const passedOn = this.#turns.passOn(waiter);
    if (this.#queue.first(this.#site.clock.now()) === undefined) await this.#asking.end();
    await passedOn;
    return true;
  }

  /** Has the waiters wait in the store by themselves, in their order; the first one keeps the place of the ask. */
  useOwnTickets(): void {
    const now = this.#site.clock.now();
    const first = this.#asking.id === undefined ? undefined : this.#queue.first(now);
    for (const waiter of [...this.#queue]) {
      if (waiter === first) continue;
      this.#queue.delete(waiter);
      if (waiter.isAlive(now)) this.tickets.enqueue(waiter);
      waiter.wake();
    }
  }
}
