import type { Clock, Instant } from "../../_clock.ts";
import { type Claim, holdOf } from "../../store.ts";
import type { Standing } from "./standing.ts";
import { DEAD } from "./statements.ts";

/** The shortest and the longest time between two attempts of a waiter, in milliseconds. */
const POLL = { min: 1, max: 50 } as const;

/** The next attempt comes after this part of the time for which the waiter's place in the queue has not changed. */
const PATIENCE = 1 / 4;

/** How often it is written down that a waiter is alive, in milliseconds; the other polls only read. */
const SIGN_OF_LIFE = 100;

/** What this process knows of a handle that waits. */
export interface Waiter {
  readonly claim: Claim;
  /** Its place in the queue: its own also when others have forgotten it. */
  readonly ticket: number;
  ahead: number;
  /** Since when so many are ahead. */
  since: number;
  /** When it last asked. */
  asked: Instant;
  /** When it was last written down that it is alive. */
  signed: number;
}

/**
 * The handles of this process that wait. One of them writes for all that they are alive: only one process at a time can
 * write to the file, and a hundred waiters that each wrote by itself would leave no room for those who lock and release.
 * Times are milliseconds of the wall clock.
 */
export class Waiters {
  readonly #clock: Clock;
  readonly #waiters = new Map<string, Waiter>();
  /** When one of them last set out to write. */
  #tried = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What is known of a handle that asks, if it waits. */
  get(claim: Claim): Waiter | undefined {
    return this.#waiters.size === 0 ? undefined : this.#waiters.get(key(claim));
  }

  /** Whether it falls to this one, which asks, to write down that they are alive. */
  mustSign(waiter: Waiter): boolean {
    const now = waiter.asked = this.#clock.now();
    const signed = age(waiter.signed, now);
    // While one waits for its turn to write, the others need not queue up behind it, unless they would be given up.
    const trusts = age(this.#tried, now) < SIGN_OF_LIFE ? DEAD / 2 : SIGN_OF_LIFE;
    if (signed < trusts) return false;
    this.#tried = now.wall;
    return true;
  }

  /** Those for whom it may be written now that they are alive, as they have asked lately. */
  due(): Waiter[] {
    const now = this.#clock.now();
    // Not those who were signed for just now: each of many who come at once would write for all before it. By the
    // monotonic clock: that the other was set, or went on while the machine slept, says nothing about a waiter.
    return [...this.#waiters.values()].filter(({ asked, signed }) =>
      now.monotonic - asked.monotonic < DEAD && age(signed, now) >= SIGN_OF_LIFE / 2
    );
  }

  /** Notes that a handle stands in the queue. */
  add(claim: Claim, ticket: number, now: number): void {
    if (this.#waiters.has(key(claim))) return;
    this.#waiters.set(key(claim), { claim, ticket, ahead: 0, since: now, asked: this.#clock.now(), signed: now });
  }

  /** Forgets one that does not wait any more. */
  delete(claim: Claim): void {
    if (this.#waiters.size > 0) this.#waiters.delete(key(claim));
  }

  /** When it is to ask again: soon when its place has just changed, and ever more rarely when it does not. */
  pause(claim: Claim, { ahead, left }: Standing, now: number): number {
    const waiter = this.get(claim);
    if (waiter === undefined) return POLL.min;
    if (waiter.ahead !== ahead || now < waiter.since) Object.assign(waiter, { ahead, since: now });
    // Nobody is served sooner than those ahead take to hand over.
    const soonest = POLL.min * Math.max(1, ahead);
    const pause = Math.min(Math.max((now - waiter.since) * PATIENCE, soonest), POLL.max);
    return left > 0 && ahead === 0 ? Math.min(pause, Math.max(left, POLL.min)) : pause;
  }
}

/** How long ago something was by the wall clock, which may have been set since, either way. */
function age(wall: number, now: Instant): number {
  return Math.abs(now.wall - wall);
}

function key(claim: Claim): string {
  return JSON.stringify([claim.name, holdOf(claim)]);
}
