import type { Instant } from "../time/clock.ts";
import { ShortLivedMap } from "../time/short_lived.ts";
import type { Granted } from "../contract/store.ts";
import type { Grant } from "./grant.ts";
import type { Handle } from "./handle.ts";

/** How many places one handle keeps alive at most: the number that one command may name. */
const MAX_SLEEPERS = 1_000;

/** After this many milliseconds without a request a handle attempts, although another handle keeps its place alive. */
const SLEEP_LIMIT_MS = 600_000;

/** The handles of this process that wait for one lock, by their ids, in the order of their first attempts. */
export class LocalQueue extends ShortLivedMap<string, Handle> {
  /** Whether sections last as long as `keep`, so that every handle asks for itself. */
  long: boolean;
  /** How long the last answer of the store took, in milliseconds. */
  tripMs = 0;
  /** The id of the handle that came first and went to the store directly. It may hold the lock or wait for it. */
  direct: string | undefined;
  /** Whether the handles no longer share anything. */
  closed = false;
  readonly #keeps: boolean;

  constructor({ keeps, long, direct }: Pick<LocalQueue, "keeps" | "long" | "direct">) {
    super();
    this.#keeps = keeps;
    this.long = long;
    this.direct = direct;
  }

  /** Whether only the first handle asks, and a grant is handed on for `keep` milliseconds. */
  get keeps(): boolean {
    return this.#keeps && !this.closed;
  }

  /** Adds a handle behind the others. The direct handle goes before the others, because the store knows it. */
  enter(handle: Handle): void {
    if (handle.id !== this.direct) return this.set(handle.id, handle);
    this.direct = undefined;
    handle.place = "own";
    this.setFirst(handle.id, handle);
  }

  /** Returns whether a handle waits that cannot share a grant: the lock is not handed past it while it can lead. */
  hasBarrier(now: Instant): boolean {
    for (const handle of this.values()) if (!handle.plain && handle.canLead(now)) return true;
    return false;
  }

  /** Whether the store grants the lock to no newcomer past the local waiters: it knows one, or all have asked. */
  get isKnown(): boolean {
    let asked = true;
    for (const { place, unanswered } of this.values()) {
      if (place !== "none") return true;
      asked &&= unanswered > 0;
    }
    return asked;
  }

  /** Returns whether a handle can be handed the lock: not if its lease would be over before the store answers. */
  canShare({ plain, claim: { lease } }: Handle): boolean {
    return plain && lease > 2 * this.tripMs;
  }

  mayLead(handle: Handle, now: Instant): boolean {
    return this.canShare(handle) && handle.canLead(now);
  }

  /** Returns the first handle that can be handed the lock now, if it is not behind a barrier. */
  first(now: Instant): Handle | undefined {
    for (const handle of this.values()) {
      if (this.mayLead(handle, now)) return handle;
      if (!handle.plain && handle.canLead(now)) return undefined;
    }
    return undefined;
  }

  /**
   * Yields the plain handles that ask: the first handle, unless the process has the lock, the first handle after each
   * barrier, and the handles that cannot be handed the lock. While sections are long all ask, one after the other: then
   * the first sleeping handle.
   */
  *leaders(now: Instant, granted: boolean): Iterable<Handle> {
    let led = granted && !this.long;
    for (const handle of this.values()) {
      if (!handle.plain) led = false;
      else if (!this.canShare(handle)) yield handle;
      else if (handle.canLead(now) && (!this.long || handle.state === "sleeping")) {
        if (!led) yield handle;
        led = true;
      }
    }
  }

  /** Wakes the handles that have become leaders, so that they ask. */
  wakeLeaders(now: Instant, granted: boolean): void {
    if (!this.keeps) return;
    for (const handle of this.leaders(now, granted)) if (handle.state === "sleeping") handle.wake();
  }

  wakeAll(): void {
    for (const handle of this.values()) handle.wake("store");
  }

  /** Returns whether a handle that attempts should ask the store, by its wake-up and the grant that is handed on. */
  asks(handle: Handle, now: Instant, woken: "here" | "store" | undefined, grant: Grant | undefined): boolean {
    // The store has a place for it. It asks when the store wakes it, or it would lose the place.
    if (handle.place !== "none" && woken === "store") return true;
    if (grant?.members.includes(handle)) return false;
    if (handle.place !== "none") {
      if (handle.place === "own" || handle.sentFor(now) >= SLEEP_LIMIT_MS) return true;
      return this.polls(handle, now);
    }
    return !this.keeps || !this.canShare(handle) || this.leads(handle, now, grant !== undefined);
  }

  /** Returns the handle that is handed the lock next, if any. Wakes the members that are passed over. */
  successor(grant: Grant, now: Instant): Handle | undefined {
    if (this.keeps) return this.first(now);
    const members = grant.members.filter((member) => this.mayLead(member, now));
    const passed = grant.members.filter((member) => !members.includes(member));
    grant.members = members.slice(1);
    for (const member of passed) member.wake();
    return members[0];
  }

  /**
   * Records that the members of a run have left the store's queue. Returns the members that can be handed the lock.
   *
   * @param number the number of the granted attempt
   */
  takeRun({ run = [] }: Granted, number: number): Handle[] {
    return run.flatMap((id) => {
      const member = this.get(id);
      if (member === undefined) return [];
      // An attempt that was under way at the time of the grant may put the member into the queue again.
      member.place = member.unanswered > 0 || member.answeredAt >= number ? "own" : "none";
      if (member.state === "queued") member.state = "sleeping";
      return member.state === "idle" || member.state === "next" ? [] : [member];
    });
  }

  leads(handle: Handle, now: Instant, granted: boolean): boolean {
    for (const leader of this.leaders(now, granted)) if (leader === handle) return true;
    return false;
  }

  /** Returns whether a handle keeps the places of the others in the store's queue alive. */
  polls(handle: Handle, now: Instant): boolean {
    for (const other of this.values()) {
      if (other === handle) return true;
      if (other.place === "shared" && other.canLead(now)) return false;
    }
    return true;
  }

  /** Returns the ids of the queued handles (at most 1,000) whose places an attempt of `handle` keeps alive. */
  sleepers(handle: Handle): string[] {
    const ids: string[] = [];
    for (const other of this.values()) {
      if (other !== handle && other.place === "shared" && other.state === "queued") ids.push(other.id);
      if (ids.length === MAX_SLEEPERS) break;
    }
    return ids;
  }
}
