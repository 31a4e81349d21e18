import type { HolderEntry } from "@holdfast/lock";
import type { Instant } from "../../time/clock.ts";
import type { ListedLock } from "../../listing/locks.ts";

/** By how much the end of a lease may seem to move without a renewal, in milliseconds: answers take time. */
const JITTER_MS = 250;

/** When a lease ends. */
export interface LeaseEnd {
  /** Milliseconds since the Unix epoch, by the clock of this process. */
  readonly ends: number;
  /** The longest rest of the lease seen, in milliseconds. */
  readonly longest: number;
}

/**
 * The ends of the holders' leases. A store reports the rest of a lease, which differs at each poll. This class keeps
 * the end until the lease is renewed, so that a view changes only after an event.
 */
export class LeaseEnds {
  #known: ReadonlyMap<string, LeaseEnd> = new Map();

  /** Takes the leases of these locks, and drops all others. */
  update(locks: readonly ListedLock[], now: Instant): void {
    const known = new Map<string, LeaseEnd>();
    for (const holder of locks.flatMap(({ held }) => held)) {
      if (holder.expiresIn === undefined) continue;
      const before = this.of(holder);
      const ends = Math.round(now.wall + holder.expiresIn);
      const longest = Math.max(before?.longest ?? 0, Math.round(holder.expiresIn));
      const moved = before === undefined || Math.abs(before.ends - ends) >= JITTER_MS;
      known.set(keyOf(holder), moved ? { ends, longest } : before);
    }
    this.#known = known;
  }

  /** Returns when the lease of a holder ends. */
  of(holder: HolderEntry): LeaseEnd | undefined {
    return this.#known.get(keyOf(holder));
  }
}

function keyOf({ name, handle }: HolderEntry): string {
  return JSON.stringify([name, handle]);
}
