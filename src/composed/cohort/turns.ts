import { elapsed, type Instant } from "../../internal/clock.ts";
import { LATE, within } from "../../internal/release.ts";
import { ShortLivedMap } from "../../internal/short_lived.ts";
import { type Attempt, type Claim, type Granted, handleOf, type Renewal } from "../../store.ts";
import { GlobalHold, grantOf, type LocalHolder } from "./global_hold.ts";
import { linger, lingerAtOnce } from "./linger.ts";
import { DEAD_MS, type LocalQueue, type LocalWaiter } from "./local_queue.ts";
import type { Sections } from "./sections.ts";
import type { Site } from "./site.ts";

/** How long a renewal for the next waiter may take, in milliseconds; not longer than the lease. */
const RENEWAL_LIMIT_MS = 5_000;

/** Whoever is told what becomes of the lock of the process. */
export interface TurnsUser {
  /** The process does not have the lock any more, or nobody of those who wait will get it by that. */
  freed(): void;
  /** A section takes as long as `keep`: nobody of those who wait will get the lock from this process. */
  useOwnTickets(): void;
  /** Somebody was granted the lock, and does not wait any more. */
  granted(): void;
  /** The store failed. The waiter itself knows it already. */
  failed(error: unknown, waiter: LocalWaiter): void;
}

/**
 * The turns of the handles of this process with the lock: one {@linkcode GlobalHold} at a time is handed on from each
 * holder to the first of the local queue, until it must go back to the store.
 *
 * Whose turn it is, is state of the hold: a waiter that is between two sleeps finds it with its next attempt.
 */
export class Turns {
  readonly #site: Site;
  readonly #queue: LocalQueue;
  readonly #sections: Sections;
  readonly #user: TurnsUser;
  /** By the ids of their handles: the one that has the lock, and those whose release the store has not answered. */
  readonly #holders = new ShortLivedMap<string, LocalHolder>();
  #hold: GlobalHold | undefined;
  #closed = false;

  /** Begins without a hold. */
  constructor(site: Site, queue: LocalQueue, sections: Sections, user: TurnsUser) {
    this.#site = site;
    this.#queue = queue;
    this.#sections = sections;
    this.#user = user;
  }

  /** The lock of the process, while it may be handed on or a handle has it. */
  get hold(): GlobalHold | undefined {
    return this.#hold;
  }

  /** The handles that have the lock, or whose release the store has not answered. */
  get holders(): Pick<ShortLivedMap<string, LocalHolder>, "get" | "size"> {
    return this.#holders;
  }

  /** The handles that have the lock, by the id under which the store has it. */
  get listing(): ReadonlyMap<string, LocalHolder> {
    const held = new Map<string, LocalHolder>();
    for (const holder of this.#holders.values()) {
      if (!holder.released) held.set(holder.hold.lease.claim.owner, holder);
    }
    return held;
  }

  /** Begins with what the store has granted. With `once` it is for one handle. */
  begin(claim: Claim, granted: Granted, sentAt: Instant, once: boolean): GlobalHold {
    // If there is another one, the store has granted the lock past it: it is over there.
    this.detach();
    const hold = new GlobalHold(this.#site, claim, granted, sentAt, this.#site.clock.now());
    if (once || this.#closed) hold.open = false;
    return this.#hold = hold;
  }

  /** Makes it the turn of the first waiter that is alive, if the lock is free and it is nobody's turn. */
  assign(hold: GlobalHold, now: Instant): void {
    if (hold.holder !== undefined) return;
    if (hold.next !== undefined) {
      // It was woken, and may not have run since.
      if (hold.next.isAlive(now) || elapsed(hold.idleSince, now) < DEAD_MS) return;
      this.#queue.delete(hold.next);
    }
    hold.next = this.#queue.first(now);
    hold.idleSince = now;
    if (hold.next === undefined) return;
    hold.next.wake();
    this.#watch(hold, now);
  }

  /**
   * Renews the lease of the process for a waiter. Resolves to whether it can be granted the lock then; at once when the
   * process does not have the lock any more.
   */
  async prepare(hold: GlobalHold, waiter: LocalWaiter): Promise<boolean> {
    const { lease } = waiter.claim;
    const limit = Math.min(lease, RENEWAL_LIMIT_MS);
    const { signal } = hold;
    let end = () => {};
    const ended = new Promise<void>((resolve) => end = resolve);
    signal.addEventListener("abort", end);
    waiter.attempting++;
    try {
      // If the answer never comes, this waiter must not be the first of the queue for ever.
      const renewal = await within(limit, Promise.race([hold.lease.renew(lease), ended]), this.#site.clock);
      if (renewal === "lost") this.lost(hold);
    } catch (error) {
      const fault = error === LATE ? new Error(`no answer to a renewal within ${limit} ms`) : error;
      // What the store has is not known: the lock goes back, and the next ask has another id.
      if (this.#hold === hold) {
        this.detach();
        this.#user.failed(fault, waiter);
      }
      throw fault;
    } finally {
      signal.removeEventListener("abort", end);
      waiter.attempting--;
    }
    return this.#hold === hold && hold.next === waiter;
  }

  /** Grants the lock to a waiter, whose attempt was made at `calledAt`, and which has it from `since` on. */
  grant(hold: GlobalHold, waiter: LocalWaiter, calledAt: Instant, since: Instant): Attempt {
    const { claim } = waiter;
    const { renewal = 0 } = claim;
    this.#queue.delete(waiter);
    hold.next = undefined;
    const holder = hold.holder = { claim, hold, fence: hold.takeFence(), since, renewal, released: false };
    this.#holders.set(handleOf(claim), holder);
    this.#user.granted();
    this.#watch(hold, since);
    return grantOf(holder, calledAt);
  }

  /** Renews for a handle that has the lock. */
  async renew(holder: LocalHolder, claim: Claim): Promise<Renewal> {
    const { hold } = holder;
    const { renewal = 0 } = claim;
    if (hold.lease.over) return "lost";
    if (renewal < holder.renewal) return "renewed";
    holder.renewal = renewal;
    const outcome = await hold.lease.renew(claim.lease);
    if (outcome === "lost") this.lost(hold);
    return outcome;
  }

  /** Releases for a handle that has the lock: hands it on, keeps it for a while, or gives it back. */
  release(holder: LocalHolder): Promise<boolean> {
    const { hold } = holder;
    const now = this.#site.clock.now();
    if (!holder.released) this.#sections.add(elapsed(holder.since, now));
    holder.released = true;
    // The process vouches for what it knows. Once the lease may be over, only the store can.
    if (this.#hold === hold && hold.left(now) > 0 && !hold.lease.hasEnded(now)) {
      hold.holder = undefined;
      this.assign(hold, now);
      if (hold.next !== undefined || this.#linger(hold, now)) {
        this.#holders.delete(handleOf(holder.claim));
        return Promise.resolve(true);
      }
    }
    return this.giveBack(hold, holder);
  }

  /** Takes the turn from a waiter that has left. Resolves when the lock has gone back, if nobody else wants it. */
  async passOn(waiter: LocalWaiter): Promise<void> {
    const hold = this.#hold;
    if (hold === undefined || hold.next !== waiter) return;
    hold.next = undefined;
    const now = this.#site.clock.now();
    this.assign(hold, now);
    if (hold.idle && !(hold.left(now) > 0 && this.#linger(hold, now))) await this.giveBack(hold).catch(() => {});
  }

  /** Gives the lock back. Resolves to whether the store still had it; if it fails, it is retried in the background. */
  giveBack(hold: GlobalHold, holder?: LocalHolder): Promise<boolean> {
    if (this.#hold === hold) this.#hold = undefined;
    hold.close();
    const forget = () => holder && this.forget(holder);
    const released = hold.lease.release();
    // Asked for anew right behind the release: whoever waits in this process queues at the end.
    this.#user.freed();
    const settled = released.then((known) => {
      forget();
      return known;
    }, (error) => {
      if (!hold.abandoned) this.#site.track(hold.lease.undo().then(forget));
      hold.abandoned = true;
      throw error;
    });
    this.#site.track(settled.catch(() => {}));
    return settled;
  }

  /** Forgets a holder whose handle begins anew. */
  forget(holder: LocalHolder): void {
    const id = handleOf(holder.claim);
    if (this.#holders.get(id) === holder) this.#holders.delete(id);
  }

  /** Notes that the store does not know the lock any more. */
  lost(hold: GlobalHold): void {
    hold.lease.lose();
    if (hold.holder !== undefined) this.forget(hold.holder);
    if (this.#hold === hold) this.#hold = undefined;
    hold.close();
    // A quorum that has lost it may have it on some nodes, or queue late for it.
    if (!hold.abandoned) this.#site.track(hold.lease.undo());
    hold.abandoned = true;
    this.#user.freed();
  }

  /** Notes when the lease is over by the clock: its holder did not renew it, and does not keep it from the others. */
  dropEnded(now: Instant): void {
    const hold = this.#hold;
    if (!hold?.lease.hasEnded(now)) return;
    if (hold.holder !== undefined) this.forget(hold.holder);
    hold.holder = undefined;
    this.detach();
    this.#user.freed();
  }

  /** Stops handing the lock on. The handle that has it gives it back; if there is none, that is done here. */
  detach(): void {
    const hold = this.#hold;
    if (hold === undefined) return;
    this.#hold = undefined;
    hold.close();
    if (hold.holder !== undefined || hold.abandoned) return;
    hold.abandoned = true;
    this.#site.track(hold.lease.undo());
  }

  /** Hands nothing on any more, and gives back what no handle has. */
  close(): void {
    this.#closed = true;
    const hold = this.#hold;
    if (hold === undefined) return;
    hold.open = false;
    hold.next = undefined;
    this.giveBackUnheld().catch(() => {});
  }

  /** Gives the lock back if no handle has it. */
  async giveBackUnheld(): Promise<void> {
    const hold = this.#hold;
    if (hold !== undefined && hold.holder === undefined) await this.giveBack(hold);
  }

  /** Keeps the lock for the next handle, if that is asked for; where others wait, only for one that asks at once. */
  #linger(hold: GlobalHold, now: Instant): boolean {
    if (this.#site.settings.linger === 0) return false;
    hold.idleSince = now;
    if (hold.lingering) return true;
    hold.lingering = true;
    const idle = () => this.#hold === hold && hold.idle;
    const end = (how: "over" | "lost") => {
      if (how === "lost") this.lost(hold);
      else this.giveBack(hold).catch(() => {});
    };
    this.#site.track(hold.contended ? lingerAtOnce(hold, idle, end) : linger(this.#site, hold, idle, end));
    return true;
  }

  /** Looks after the lock while others wait for it: the section may be long, or the next waiter may have died. */
  #watch(hold: GlobalHold, now: Instant): void {
    if (hold.timer !== undefined || this.#hold !== hold || this.#queue.size === 0) return;
    const { clock, settings: { keep } } = this.#site;
    const section = hold.holder === undefined ? 0 : elapsed(hold.holder.since, now);
    hold.timer = clock.timer(Math.max(1, keep - section), () => this.#check(hold), now);
  }

  #check(hold: GlobalHold): void {
    hold.timer = undefined;
    const { clock, settings: { keep } } = this.#site;
    const now = clock.now();
    if (hold.holder !== undefined && elapsed(hold.holder.since, now) >= keep) {
      this.#sections.addAtLeast(keep);
      this.#user.useOwnTickets();
    } else if (hold.next !== undefined && elapsed(hold.idleSince, now) >= DEAD_MS) {
      this.assign(hold, now);
      if (hold.idle) this.giveBack(hold).catch(() => {});
    }
    this.#watch(hold, now);
  }
}
