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
  #since: Instant | undefined;
  #last: Instant | undefined;
  #interrupted = false;

  /** When the last heartbeat was written; `undefined` while the client has no waiters. */
  get lastHeartbeat(): Instant | undefined {
    return this.#last;
  }

  heartbeat(now: Instant): void {
    const gap = this.#last !== undefined && isGap(this.#last, now);
    if (this.#since === undefined || gap) {
      this.#since = now;
      this.#interrupted = gap;
    }
    this.#last = now;
  }

  /** Starts again, once the client has no waiters. */
  end(): void {
    this.#since = this.#last = undefined;
  }

  /** Returns after how many milliseconds without a heartbeat another client is dead; `Infinity` if unknown. */
  deadAfter(now: Instant): number {
    if (this.#since === undefined || this.#last === undefined) return DEAD_AT_FIRST_MS;
    if (isGap(this.#last, now)) return Infinity;
    if (now.monotonic - this.#since.monotonic >= DEAD_MS) return DEAD_MS;
    return this.#interrupted ? Infinity : DEAD_AT_FIRST_MS;
  }
}

function isGap(from: Instant, to: Instant): boolean {
  return Math.max(Math.abs(to.monotonic - from.monotonic), Math.abs(to.wall - from.wall)) > GAP_MS;
}
