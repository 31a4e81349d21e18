import { type Claim, holdOf } from "../../store.ts";
import type { Standing } from "./standing.ts";

/** The shortest and the longest time between two attempts of a waiter, in milliseconds. */
const POLL = { min: 1, max: 50 } as const;

/** The next attempt comes after this part of the time for which the waiter's place in the queue has not changed. */
const PATIENCE = 1 / 4;

/** How often a waiter writes down that it is alive, in milliseconds; its other polls only read. */
const SIGN_OF_LIFE = 100;

/** What this process knows of a handle that waits. */
interface Waiter {
  ahead: number;
  /** Since when so many are ahead. */
  since: number;
  /** When it last wrote down that it is alive. */
  signed: number;
}

/** The handles of this process that wait. Times are milliseconds of the wall clock. */
export class Waiters {
  readonly #waiters = new Map<string, Waiter>();

  /** Whether it stands in the queue and was seen there lately. */
  seen(claim: Claim, now: number): boolean {
    if (this.#waiters.size === 0) return false;
    const waiter = this.#waiters.get(key(claim));
    return waiter !== undefined && Math.abs(now - waiter.signed) < SIGN_OF_LIFE;
  }

  /** Notes that it has written down that it is alive. */
  sign(claim: Claim, now: number): void {
    const waiter = this.#waiters.get(key(claim)) ?? { ahead: 0, since: now, signed: now };
    waiter.signed = now;
    this.#waiters.set(key(claim), waiter);
  }

  /** Forgets one that does not wait any more. */
  delete(claim: Claim): void {
    if (this.#waiters.size > 0) this.#waiters.delete(key(claim));
  }

  /** When it is to ask again: soon when its place has just changed, and ever more rarely when it does not. */
  pause(claim: Claim, { ahead, left }: Standing, now: number): number {
    const waiter = this.#waiters.get(key(claim));
    if (waiter === undefined) return POLL.min;
    if (waiter.ahead !== ahead || now < waiter.since) Object.assign(waiter, { ahead, since: now });
    // Nobody is served sooner than those ahead take to hand over.
    const soonest = POLL.min * Math.max(1, ahead);
    const pause = Math.min(Math.max((now - waiter.since) * PATIENCE, soonest), POLL.max);
    return left > 0 && ahead === 0 ? Math.min(pause, Math.max(left, POLL.min)) : pause;
  }
}

function key(claim: Claim): string {
  return JSON.stringify([claim.name, holdOf(claim)]);
}
