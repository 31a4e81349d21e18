import { elapsed, type Instant } from "../../internal/clock.ts";
import { type Claim, handleOf } from "../../store.ts";
import type { Sections } from "./sections.ts";
import type { Site } from "./site.ts";

/** After so many milliseconds a waiter that neither asked nor left is forgotten. */
export const FORGOTTEN_MS = 60_000;

/** A handle that waits in the queue of the store by itself. */
interface Ticket {
  asked: Instant;
  /** Whether it could not wait in the local queue: it is for a shared lock, say. */
  readonly stranger: boolean;
  /** The request that put it into the queue, if the cohort sent that for it. */
  readonly sent: Promise<unknown> | undefined;
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
 */
export class OwnTickets {
  readonly #site: Site;
  readonly #sections: Sections;
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

  /** Puts a handle into the queue of the store, for its next attempt to find it there. */
  enqueue(claim: Claim): void {
    const sent = this.#site.store.attempt(claim, { enqueue: true }).catch(() => {});
    this.#tickets.set(handleOf(claim), { asked: this.#site.clock.now(), stranger: false, sent });
    this.#site.track(sent);
  }

  /** Takes note of a handle that has asked the store by itself before. */
  adopt(claim: Claim, granted: boolean): void {
    if (granted) this.granted(claim);
    else this.attempted(handleOf(claim), false);
  }

  /** Notes that a handle which was adopted, and has not been released, was granted the lock. */
  adoptGranted(claim: Claim): void {
    const id = handleOf(claim);
    if (!this.has(id)) return;
    this.forget(id);
    this.granted(claim);
  }

  /** Notes that a handle attempts by itself. */
  attempted(handle: string, stranger: boolean): void {
    const asked = this.#site.clock.now();
    const ticket = this.#tickets.get(handle);
    if (ticket === undefined) this.#tickets.set(handle, { asked, stranger, sent: undefined });
    else ticket.asked = asked;
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
    const ticket = this.#tickets.get(handle);
    this.#tickets.delete(handle);
    return ticket?.sent;
  }

  /** Notes that a handle does not wait. */
  forget(handle: string): void {
    this.#tickets.delete(handle);
  }

  /** Forgets handles that were never released. */
  prune(now: Instant): void {
    for (const [id, { asked }] of this.#tickets) if (elapsed(asked, now) >= FORGOTTEN_MS) this.#tickets.delete(id);
    if (this.#holder !== undefined && this.#hasEnded(this.#holder, now)) this.#holder = undefined;
  }

  #hasEnded({ lease, seen }: Holder, now = this.#site.clock.now()): boolean {
    return elapsed(seen, now) >= lease;
  }
}
