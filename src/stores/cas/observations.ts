import type { Instant } from "../../internal/time/clock.ts";
import type { DocumentHolder, LockDocument, RollCall, Turn } from "./document.ts";

/** Something that a document says: a grant or a renewal, a turn, a roll call. */
export interface Sign {
  /** From the counter of the document, from which all of them take their numbers. */
  readonly number: number;
  /** Tells it from one with that number in a document that was removed and made anew. */
  readonly of: string | number | bigint | undefined;
}

/** A sign, and for how long this store object has seen it. */
interface Observation {
  readonly sign: Sign;
  /** In milliseconds, up to the last look. */
  readonly ms: number;
  readonly lastLook: Instant;
}

/**
 * For how long one store object has seen the same signs in a document. It counts from the reply of the first read that
 * showed them, by whichever of its two clocks has moved less: so it rests on no other clock, and neither a suspended
 * machine nor a clock that is set makes it too long.
 */
export class Observations {
  /** By their numbers. */
  #all = new Map<number, Observation>();

  /** Notes what a document says that was received at a moment. */
  note({ holders, turn, rollCall, queue }: LockDocument, at: Instant): void {
    const all = new Map<number, Observation>();
    const see = (sign: Sign) => void all.set(sign.number, { sign, ms: this.seenFor(sign, at), lastLook: at });
    for (const holder of holders.values()) see(holderSign(holder));
    if (turn !== undefined) see(turnSign(turn));
    if (queue.length > 0) see(rollCallSign(rollCall));
    this.#all = all;
  }

  /** Returns for how many milliseconds a sign has been seen. */
  seenFor({ number, of }: Sign, now: Instant): number {
    const seen = this.#all.get(number);
    return seen === undefined || seen.sign.of !== of ? 0 : seen.ms + leastElapsed(seen.lastLook, now);
  }
}

/** Returns the sign of a grant or a renewal. A handle may be granted the lock again in a document that was made anew. */
export function holderSign({ beat, fence }: DocumentHolder): Sign {
  return { number: beat, of: fence };
}

/** Returns the sign of a turn. */
export function turnSign({ number, handle }: Turn): Sign {
  return { number, of: handle };
}

/** Returns the sign of a roll call, or of a queue that begins. */
export function rollCallSign({ number, since }: RollCall): Sign {
  return { number, of: since };
}

/** Returns the milliseconds from one moment to another: the *smaller* of what the two clocks say, and none if one was set back. */
function leastElapsed(from: Instant, to: Instant): number {
  return Math.max(0, Math.min(to.monotonic - from.monotonic, to.wall - from.wall));
}
