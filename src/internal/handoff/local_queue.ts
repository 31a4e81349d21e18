import type { Instant } from "../time/clock.ts";
import { ShortLivedMap } from "../process/short_lived.ts";
import type { Handle } from "./handle.ts";

/** How many places one handle keeps alive at most: what one command may name. */
const MAX_SLEEPERS = 1_000;

/** The handles of this process that wait for one lock, by their ids, in the order of their first attempts. */
export class LocalQueue extends ShortLivedMap<string, Handle> {
  /** Whether sections last as long as `keep`, so that every handle asks for itself. */
  long: boolean;
  /** How long the last answer of the store took, in milliseconds. */
  tripMs = 0;

  /** Makes an empty queue. */
  constructor(long: boolean) {
    super();
    this.long = long;
  }

  /** Whether a handle waits that cannot share a grant: nothing is handed past it. */
  get hasBarrier(): boolean {
    for (const { plain } of this.values()) if (!plain) return true;
    return false;
  }

  /** Whether the store knows that a handle of this process waits: it grants the lock to no newcomer then. */
  get isKnown(): boolean {
    for (const { place, unanswered } of this.values()) if (place !== "none" || unanswered > 0) return true;
    return false;
  }

  /** Returns whether a handle can be handed the lock: not if its lease is over before the store answers. */
  canShare({ plain, claim: { lease } }: Handle): boolean {
    return plain && lease > 2 * this.tripMs;
  }

  /** Returns whether a handle can be handed the lock now. */
  mayLead(handle: Handle, now: Instant): boolean {
    return this.canShare(handle) && handle.canLead(now);
  }

  /** Returns the first handle that can be handed the lock now, if it is not behind a barrier. */
  first(now: Instant): Handle | undefined {
    for (const handle of this.values()) {
      if (!handle.plain) return undefined;
      if (this.mayLead(handle, now)) return handle;
    }
    return undefined;
  }

  /**
   * Returns the plain handles that ask: the first one, unless the process has the lock, and the first one behind each
   * barrier. While sections are long all ask, one after the other: then it is the first that sleeps.
   */
  *leaders(now: Instant, granted: boolean): Iterable<Handle> {
    let led = granted && !this.long;
    for (const handle of this.values()) {
      if (!handle.plain) led = false;
      else if (this.mayLead(handle, now) && (!this.long || handle.state === "sleeping")) {
        if (!led) yield handle;
        led = true;
      }
    }
  }

  /** Returns whether a handle is one of the {@linkcode leaders}. */
  leads(handle: Handle, now: Instant, granted: boolean): boolean {
    for (const leader of this.leaders(now, granted)) if (leader === handle) return true;
    return false;
  }

  /** Returns whether a handle is the one that keeps the places of the others in the store's queue alive. */
  polls(handle: Handle, now: Instant): boolean {
    for (const other of this.values()) {
      if (other === handle) return true;
      if (other.place === "shared" && other.canLead(now)) return false;
    }
    return true;
  }

  /** Returns the ids of the handles whose places a handle keeps alive with its own. */
  sleepers(handle: Handle): string[] {
    const ids: string[] = [];
    for (const other of this.values()) {
      if (other !== handle && other.place === "shared" && other.state === "queued") ids.push(other.id);
      if (ids.length === MAX_SLEEPERS) break;
    }
    return ids;
  }
}
