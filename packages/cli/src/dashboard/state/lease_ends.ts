import type { Instant } from "../../internal/time/clock.ts";
import type { ListedLock } from "../../internal/listing/locks.ts";
import type { HolderEntry } from "../../store.ts";

/** By how much the end of a lease may seem to move although it was not renewed, in milliseconds: answers take time. */
const JITTER_MS = 250;

/** When a lease ends. */
export interface LeaseEnd {
  /** Milliseconds since the Unix epoch, by the clock of this process. */
  readonly ends: number;
  /** The longest time that it was seen to have left, in milliseconds. */
  readonly longest: number;
}

/**
 * When the leases of the holders end. A store says how much is left, which is another number at each poll; this keeps
 * the end until the lease was renewed, so that a view changes only when something has happened.
 */
export class LeaseEnds {
  #known: ReadonlyMap<string, LeaseEnd> = new Map();

  /** Takes the leases of these locks, and forgets all others. */
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
