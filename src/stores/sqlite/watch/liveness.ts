import type { Instant } from "../../../time/clock.ts";

/** How often a client with waiters writes a heartbeat, in milliseconds. */
export const HEARTBEAT_MS = 250;

/** The time between two heartbeats from which the process stood still or could not write, or a clock was set. */
const GAP_MS = 1_000;

/** After how many milliseconds without a heartbeat a client is dead in the view of a client that could always write. */
const DEAD_MS = 3_000;

/**
 * The same time in the view of a new client: others may not have been able to write for as long as a fault may last.
 */
const DEAD_AT_FIRST_MS = 6_000;

/**
 * Decides when other clients count as dead, from a client's own heartbeats. While it could write heartbeats, a client
 * that wrote none is dead. While it could not, it must not judge: the others may have been unable as well, because a
 * process kept the file busy, or the machine was asleep.
 */
export class Liveness {
  /** Between which heartbeats there was no gap; `undefined` while the client has no waiters. */
  #written: { readonly first: Instant; readonly afterGap: boolean; readonly last: Instant } | undefined;

  /** When the last heartbeat was written; `undefined` while the client has no waiters. */
  get lastHeartbeat(): Instant | undefined {
    return this.#written?.last;
  }

  heartbeat(now: Instant): void {
    const known = this.#written;
    const afterGap = known !== undefined && isGap(known.last, now);
    this.#written = known === undefined || afterGap ? { first: now, afterGap, last: now } : { ...known, last: now };
  }

  /** Starts again, once the client has no waiters. */
  end(): void {
    this.#written = undefined;
  }

  /** Returns after how many milliseconds without a heartbeat another client is dead; `Infinity` if unknown. */
  deadAfter(now: Instant): number {
    if (this.#written === undefined) return DEAD_AT_FIRST_MS;
    const { first, afterGap, last } = this.#written;
    if (isGap(last, now)) return Infinity;
    if (now.monotonic - first.monotonic >= DEAD_MS) return DEAD_MS;
    return afterGap ? Infinity : DEAD_AT_FIRST_MS;
  }
}

function isGap(from: Instant, to: Instant): boolean {
  return Math.max(Math.abs(to.monotonic - from.monotonic), Math.abs(to.wall - from.wall)) > GAP_MS;
}
