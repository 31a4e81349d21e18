import type { Instant } from "../../internal/time/clock.ts";
import type { DocumentHolder, LockDocument, RollCall, Turn } from "./document.ts";

/** Something that a document says, and for how long this store object has seen it there. */
interface Observation {
  /** In milliseconds, up to the last look. */
  ms: number;
  lastLook: Instant;
}

/**
 * For how long one store object has seen the same things in a document: a holder with the same beat, a turn, a roll call.
 * It counts from the reply of the first read that showed them, by whichever of its two clocks has moved less: so it rests
 * on no other clock, and neither a suspended machine nor a clock that is set makes it too long.
 */
export class Observations {
  #all = new Map<string, Observation>();

  /** Notes what a document says that was received at a moment. */
  note(document: LockDocument, at: Instant): void {
    const all = new Map<string, Observation>();
    for (const sign of signsOf(document)) all.set(sign, { ms: this.seenFor(sign, at), lastLook: at });
    this.#all = all;
  }

  /** Returns for how many milliseconds something has been seen. */
  seenFor(sign: string, now: Instant): number {
    const seen = this.#all.get(sign);
    return seen === undefined ? 0 : seen.ms + leastElapsed(seen.lastLook, now);
  }
}

/** Returns the sign of a grant or a renewal. */
export function holderSign({ claim, beat }: DocumentHolder): string {
  return `${beat} ${claim.handle ?? claim.owner}`;
}

/** Returns the sign of a turn. The number alone comes back if the document is removed and made anew. */
export function turnSign({ number, handle }: Turn): string {
  return `${number} turn ${handle}`;
}

/** Returns the sign of a roll call, or of a queue that begins. */
export function rollCallSign({ number, since }: RollCall): string {
  return `${number} roll call ${since}`;
}

function* signsOf({ holders, turn, rollCall }: LockDocument): Generator<string> {
  for (const holder of holders.values()) yield holderSign(holder);
  if (turn !== undefined) yield turnSign(turn);
  yield rollCallSign(rollCall);
}

/** Returns the milliseconds from one moment to another: the *smaller* of what the two clocks say, and none if one was set back. */
function leastElapsed(from: Instant, to: Instant): number {
  return Math.max(0, Math.min(to.monotonic - from.monotonic, to.wall - from.wall));
}
