import type { Instant } from "../../../internal/time/clock.ts";

/** How often a client with waiters writes a heartbeat, in milliseconds. */
export const HEARTBEAT_MS = 250;

/** A longer time between two heartbeats means that the process stood still or could not write, or a clock was set. */
const GAP_MS = 1_000;

/** A client without a heartbeat for so many milliseconds is dead for a client that could write all the time. */
const DEAD_MS = 3_000;

/** The same for a client that has just come: others may not have been able to write for as long as a fault may last. */
const DEAD_AT_FIRST_MS = 6_000;

/**
 * Says when other clients count as dead, from what a client knows of its own heartbeats. While it could write them, a
 * client that wrote none is dead. While it could not, it must not judge: the others could not either, because some
 * process kept the file busy, or because the machine was asleep.
 */
export class Liveness {
  /** Since when there was no gap. */
  #since: Instant | undefined;
  #last: Instant | undefined;
  /** Whether there was a gap before that. */
  #interrupted = false;

  /** When the last heartbeat was written; `undefined` while the client has no waiters. */
  get lastHeartbeat(): Instant | undefined {
    return this.#last;
  }

  /** Notes that a heartbeat was written. */
  heartbeat(now: Instant): void {
    const gap = this.#last !== undefined && isGap(this.#last, now);
    if (this.#since === undefined || gap) {
      this.#since = now;
      this.#interrupted = gap;
    }
    this.#last = now;
  }

  /** Begins anew, once the client has no waiters. */
  end(): void {
    this.#since = this.#last = undefined;
  }

  /** Returns after how many milliseconds without a heartbeat another client is dead; `Infinity` if that is unknown. */
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
