import type { DocumentHolder, LockDocument, Turn } from "./document.ts";

/** For how long a turn may stay unused, in milliseconds. */
export const TURN_MS = 1_500;

/** A lease or a turn: a right that ends by itself. */
export interface Period {
  /** A number that differs after each grant, renewal and turn: unchanged for `ms` milliseconds, it is over. */
  readonly number: number;
  /** Tells it from a period with the same number in a document that was removed and made anew. */
  readonly of: string | bigint | undefined;
  /** How long it lasts, in milliseconds. */
  readonly ms: number;
  /** When it ends: by the server's clock, or by the writer's clock where the server has none. */
  readonly end: number;
  readonly timer: string | undefined;
}

/** Returns the leases and the turn in a document. */
export function periodsOf({ holders, turn }: LockDocument): Period[] {
  const leases = Array.from(holders.values(), leaseOf);
  return turn === undefined ? leases : [...leases, periodOf(turn)];
}

/** Returns the lease of a holder. */
export function leaseOf({ beat, fence, lease, end, timer }: DocumentHolder): Period {
  // A handle may be granted the lock again in a document that was made anew.
  return { number: beat, of: fence, ms: lease, end, timer };
}

/** Returns a turn as a period. */
export function periodOf({ handle, number, since, timer }: Turn): Period {
  return { number, of: handle, ms: TURN_MS, end: since + TURN_MS, timer };
}

/** Records a timer for the lease or the turn with this number. */
export function nameTimer(document: LockDocument, number: number, timer: string): void {
  for (const holder of document.holders.values()) if (holder.beat === number) holder.timer = timer;
  if (document.turn?.number === number) document.turn = { ...document.turn, timer };
}
