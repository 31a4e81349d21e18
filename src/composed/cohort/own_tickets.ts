import { elapsed, type Instant } from "../../internal/clock.ts";
import { type Claim, handleOf } from "../../store.ts";
import { OVERDUE_MS } from "./ask.ts";
import type { LocalEntry } from "./listing.ts";
import { LocalWaiter, RETRY_MS } from "./local_queue.ts";
import type { Sections } from "./sections.ts";
import type { Site } from "./site.ts";

/** After so many milliseconds a waiter that neither asked nor left is forgotten. */
export const FORGOTTEN_MS = 60_000;

/** A handle that waits in the queue of the store by itself. */
export interface Ticket {
  readonly waiter: LocalWaiter;
  /** Whether it could not wait in the local queue: it is for a shared lock, say. */
  readonly stranger: boolean;
  /** The request that the cohort has sent for it, if there is one. */
  sent: Promise<unknown> | undefined;
  /**
   * The last answer of the store, if that was that it is in the queue, and nothing has happened since for which it should
   * ask again.
   */
  queued: { readonly sentAt: Instant; readonly retryAfter: number } | undefined;
}

/** The handle that was granted the lock last, by the store itself. */
interface Holder {
  readonly id: string;
  lease: number;
  readonly since: Instant;
  seen: Instant;
}

/**
 * The handles of this process that have a place of their own in the store: because sections take long, or because they
 * cannot share the lock of the process.
 *
 * Of those that could share it only the first one asks the store again and again. The others are *parked*: they have a
 * ticket there, can be woken by the store, and cost it nothing. A store may forget who has not asked for long, but gives
 * it its old place when it asks again. So the next one asks as soon as the first one is gone.
 */
export class OwnTickets {
  readonly #site: Site;
  readonly #sections: Sections;
  /** In the order of the queue. */
  readonly #tickets = new Map<string, Ticket>();
  #holder: Holder | undefined;

  /** Begins without any. Notes in `sections` how long theirs take. */
  constructor(site: Site, sections: Sections) {
    this.#site = site;
    this.#sections = sections;
  }

  /** Whether nobody has one. */
  get unused(): boolean {
    return this.#tickets.size === 0 && (this.#holder === undefined || this.#hasEnded(this.#holder));
  }

  /** Returns whether a handle waits with a ticket of its own, or was granted the lock last by that. */
  has(handle: string): boolean {
    return this.#tickets.has(handle) || this.#holder?.id === handle;
  }

  /** Whether a handle has one that could not wait in the local queue: those who come later must not overtake it. */
  get hasStranger(): boolean {
    for (const { stranger } of this.#tickets.values()) if (stranger) return true;
    return false;
  }

  /** The handles that wait, in order. */
  get listing(): readonly LocalEntry[] {
    return Array.from(this.#tickets.values(), ({ waiter }) => waiter);
  }

  /** Puts a handle into the queue of the store, for its next attempt to find it there. */
  enqueue(waiter: LocalWaiter): void {
    const ticket: Ticket = { waiter, stranger: false, sent: undefined, queued: undefined };
    waiter.asked = this.#site.clock.now();
    this.#tickets.set(handleOf(waiter.claim), ticket);
    this.#send(ticket);
  }

  /** Takes note of a handle that has asked the store by itself before. */
  adopt(claim: Claim, granted: boolean): void {
    if (granted) this.granted(claim);
    else this.#noted(claim, false);
  }

  /** Notes that a handle which was adopted, and has not been released, was granted the lock. */
  adoptGranted(claim: Claim): void {
    const id = handleOf(claim);
    if (!this.has(id)) return;
    this.forget(id);
    this.granted(claim);
  }

  /** Returns whether a handle need not ask the store: another one of this process is ahead of it, and asks. */
  isParked(handle: string): boolean {
    const ticket = this.#tickets.get(handle);
    if (ticket?.queued === undefined) return false;
    const now = this.#site.clock.now();
    ticket.waiter.asked = now;
    const first = this.#first(now);
    // If the first one does not ask, or the store does not answer it, each asks for itself.
    return first !== undefined && first !== ticket && !isOverdue(first, now);
  }

  /** Notes that a handle attempts by itself, and returns its ticket. The answer is noted with {@linkcode answered}. */
  attempted(claim: Claim, stranger: boolean): Ticket {
    const ticket = this.#noted(claim, stranger);
    ticket.waiter.asked = this.#site.clock.now();
    ticket.waiter.attempting++;
    return ticket;
  }

  /** Notes that the lock was busy, and when to ask again; `undefined`: it was granted, or is a conflict. */
  answered(ticket: Ticket, retryAfter: number | undefined): void {
    const { waiter, stranger } = ticket;
    waiter.attempting--;
    if (retryAfter !== undefined && !stranger) ticket.queued = { sentAt: waiter.asked, retryAfter };
  }

  /** Notes that an attempt has failed. */
  failed({ waiter, stranger }: Ticket): void {
    waiter.attempting--;
    // Those that are parked find out by themselves whether the store fails.
    if (!stranger) { for (const each of this.#tickets.values()) unpark(each); }
  }

  /** Resolves when another attempt of a handle makes sense. `undefined`: it has no ticket. */
  sleep(claim: Claim, signal: AbortSignal): Promise<void> | undefined {
    const ticket = this.#tickets.get(handleOf(claim));
    if (ticket === undefined) return undefined;
    const { waiter, stranger } = ticket;
    // It may have been unparked between the attempt and this call.
    const local = waiter.sleep(signal, !stranger && ticket.queued === undefined);
    const woken = this.#site.store.wakeup?.(claim, signal).then(() => {
      if (!signal.aborted) ticket.queued = undefined;
    });
    return woken === undefined ? local : Promise.race([local, woken]);
  }

  /** Notes that a handle was granted the lock, alone. */
  granted(claim: Claim): void {
    const id = handleOf(claim);
    const now = this.#site.clock.now();
    if (this.#holder?.id !== id) this.#holder = { id, lease: claim.lease, since: now, seen: now };
  }

  /** Notes that a handle is renewed. */
  renewed(claim: Claim): void {
    if (this.#holder?.id !== handleOf(claim)) return;
    this.#holder.seen = this.#site.clock.now();
    this.#holder.lease = claim.lease;
  }

  /** Notes that a handle is released. Resolves when that may be sent: not before it is in the queue. */
  released(handle: string): Promise<unknown> | undefined {
    if (this.#holder?.id === handle) {
      this.#sections.add(elapsed(this.#holder.since, this.#site.clock.now()));
      this.#holder = undefined;
    }
    return this.forget(handle)?.sent;
  }

  /** Notes that a handle does not wait. Returns its ticket. */
  forget(handle: string): Ticket | undefined {
    const ticket = this.#tickets.get(handle);
    if (ticket === undefined) return undefined;
    this.#tickets.delete(handle);
    if (!ticket.stranger) this.#advance();
    return ticket;
  }

  /** Forgets handles that were never released. */
  prune(now: Instant): void {
    for (const [id, { waiter }] of this.#tickets) {
      if (elapsed(waiter.asked, now) >= FORGOTTEN_MS) this.#tickets.delete(id);
    }
    if (this.#holder !== undefined && this.#hasEnded(this.#holder, now)) this.#holder = undefined;
  }

  /** Returns the ticket of a handle, perhaps a new one. */
  #noted(claim: Claim, stranger: boolean): Ticket {
    const id = handleOf(claim);
    const known = this.#tickets.get(id);
    if (known !== undefined) return known;
    const waiter = new LocalWaiter(claim, this.#site.clock.now());
    const ticket: Ticket = { waiter, stranger, sent: undefined, queued: undefined };
    this.#tickets.set(id, ticket);
    return ticket;
  }

  /** Returns the first one that asks the store for those behind it, unless it has died. */
  #first(now: Instant): Ticket | undefined {
    for (const ticket of this.#tickets.values()) if (!ticket.stranger && ticket.waiter.isAlive(now)) return ticket;
    return undefined;
  }

  /** After one has left: has the one that is the first now ask the store, if that waits for it, and soon enough. */
  #advance(): void {
    const now = this.#site.clock.now();
    const next = this.#first(now);
    if (next?.queued === undefined) return;
    const { sentAt, retryAfter } = next.queued;
    const isDue = elapsed(sentAt, now) >= retryAfter;
    // Sent at once: the store may have forgotten it, and the one before it may be released any moment.
    if (isDue) this.#send(next);
    if (isDue || retryAfter < RETRY_MS) unpark(next);
  }

  /** Sends an attempt for a handle, whose own next one finds out what has come of it. */
  #send(ticket: Ticket): void {
    const { waiter } = ticket;
    waiter.attempting++;
    const sent = this.#site.store.attempt(waiter.claim, { enqueue: true }).catch(() => {}).then(() => {
      waiter.attempting--;
    });
    ticket.sent = sent;
    this.#site.track(sent);
  }

  #hasEnded({ lease, seen }: Holder, now = this.#site.clock.now()): boolean {
    return elapsed(seen, now) >= lease;
  }
}

/** Returns whether a ticket should have been answered by the store for some time. */
function isOverdue({ waiter, queued }: Ticket, now: Instant): boolean {
  if (waiter.attempting > 0) return elapsed(waiter.asked, now) >= OVERDUE_MS;
  return queued !== undefined && elapsed(queued.sentAt, now) >= queued.retryAfter + OVERDUE_MS;
}

/** Has a parked waiter ask the store. */
function unpark(ticket: Ticket): void {
  if (ticket.queued === undefined) return;
  ticket.queued = undefined;
  ticket.waiter.wake();
}
