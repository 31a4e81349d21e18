import { aborted, calledOrAborted } from "../../../time/aborted.ts";
import type { Clock, Timer } from "../../../time/clock.ts";
import { ShortLivedMap } from "../../../time/short_lived.ts";
import { NEXT, RESERVATION_MS, TURN } from "../constants.ts";

/** Why a waiter is woken: it has its turn, or it is the next in the queue. */
type Reason = typeof TURN | typeof NEXT;

interface Waiter {
  /** Its place in the queue, as the server issued it. It keeps the place when the server has dropped it. */
  ticket: string;
  /** When it last asked, by the monotonic clock. */
  askedAt: number;
  /** Whether a wake-up came while it was not listening. */
  woken: boolean;
  /** Called with the next wake-up, while it listens. */
  wake: ((reason: Reason) => void) | undefined;
}

/** The handles of a client that wait for a lock, by their ids. */
export class Waiters {
  readonly #clock: Clock;
  readonly #waiters = new ShortLivedMap<string, Waiter>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the ticket of a handle; `undefined` at its first attempt. From then on its wake-ups are kept. */
  ask(handle: string): string | undefined {
    const waiter = this.#waiters.get(handle);
    if (waiter === undefined) {
      // Most locks are free, and their handles never wait: no clock is read for them.
      this.#waiters.set(handle, { ticket: "", askedAt: -Infinity, woken: false, wake: undefined });
      return undefined;
    }
    waiter.askedAt = this.#clock.now().monotonic;
    return waiter.ticket;
  }

  /** Records the ticket of a handle. Returns whether it waits. */
  enqueue(handle: string, ticket: string): boolean {
    const waiter = this.#waiters.get(handle);
    if (waiter === undefined) return false;
    // The server gives none to a waiter that it has dropped and that asks without queueing: that keeps its own.
    if (ticket !== "") waiter.ticket = ticket;
    waiter.askedAt = this.#clock.now().monotonic;
    return true;
  }

  /** Gives the ticket of a handle to another handle without a ticket. */
  succeed(from: string, to: string): void {
    const waiter = this.#waiters.get(from);
    if (waiter !== undefined) this.#waiters.set(to, { ...waiter, woken: false, wake: undefined });
  }

  remove(handle: string): void {
    // Mostly nobody waits, and looking for an id that is not there takes its time.
    if (this.#waiters.size > 0) this.#waiters.delete(handle);
  }

  /** Resolves when the handle has its turn or, `standby` milliseconds after it became the next, may have it. */
  wait(handle: string, standby: number, signal: AbortSignal): Promise<void> {
    const waiter = this.#waiters.get(handle);
    if (waiter === undefined) return aborted(signal);
    if (signal.aborted || waiter.woken) {
      waiter.woken = false;
      return Promise.resolve();
    }
    return calledOrAborted(signal, (done) => {
      let timer: Timer | undefined;
      waiter.wake = (reason) => {
        if (reason === TURN) return done();
        timer?.cancel();
        timer = this.#clock.timer(standby, done);
      };
      return () => {
        timer?.cancel();
        waiter.wake = undefined;
      };
    });
  }

  /** Receives a wake-up: its reason, and its handle. */
  receive(message: string): void {
    this.wake(message.slice(1), message[0] === NEXT ? NEXT : TURN);
  }

  wakeAll(): void {
    for (const handle of this.#waiters.keys()) this.wake(handle);
  }

  wake(handle: string, reason: Reason = TURN): void {
    const waiter = this.#waiters.get(handle);
    if (waiter === undefined) return;
    if (waiter.wake !== undefined) waiter.wake(reason);
    else if (reason === TURN) waiter.woken = true;
  }

  /** Returns whether any handle waits for a wake-up, or for an answer that its client may still get. */
  waiting(): boolean {
    const now = this.#clock.now().monotonic;
    for (const { wake, ticket, askedAt } of this.#waiters.values()) {
      if (wake !== undefined || ticket !== "" && now - askedAt < RESERVATION_MS) return true;
    }
    return false;
  }
}
