import { aborted } from "../../../time/aborted.ts";
import { SystemClock } from "../../../time/clock.ts";
import type { Attempt, Meta } from "../../../contract/store.ts";
import type { RedisClient } from "../clients/client.ts";
import type { RedisPort } from "../clients/port.ts";
import { portOf } from "../clients/port_of.ts";
import type { Busy, WaiterInput } from "../commands/attempt.ts";
import { Revocations } from "./revocations.ts";
import { MIN_RESERVATION_MS, PROVABLE, RESERVATION_MS, REVOCATIONS, UNPROVABLE } from "../constants.ts";
import { Subscription } from "./subscription.ts";
import { Waiters } from "./waiters.ts";

/** The address of waiters that cannot be woken: a channel without subscribers. */
const UNREACHABLE = `${UNPROVABLE}holdfast:-`;

/** How often a waiter that cannot be woken asks while the lock is reserved for it. */
const POLLS_PER_RESERVATION = 3;

/** The wake-ups of each client: one channel and one connection, however many stores use it. */
const wakeups = new WeakMap<RedisClient, Wakeups>();

/**
 * Wakes the waiters of a client when they have their turn, and the holders whose lock is revoked, by messages over
 * Pub/Sub. Its second connection is made in the background, at the first contended wait, or when a holder begins to
 * watch. While there is no connection, waiters poll.
 */
export class Wakeups {
  readonly port: RedisPort;
  readonly waiters: Waiters;
  readonly subscription: Subscription;
  readonly #channel = `holdfast:${crypto.randomUUID()}`;
  readonly #address: string;
  readonly #revocations = new Revocations();
  /** The number of cuts of the client at the last wake-up of its waiters for a cut. */
  #cutsSeen = 0;

  constructor(port: RedisPort) {
    const clock = new SystemClock();
    this.port = port;
    this.#address = (port.countsSubscribers ? PROVABLE : UNPROVABLE) + this.#channel;
    this.waiters = new Waiters(clock);
    this.subscription = new Subscription(port, [this.#channel, REVOCATIONS], {
      wanted: () => this.#revocations.size > 0 || this.waiters.waiting(),
      opened: () => {
        this.waiters.wakeAll(); // They ask again, with an address. Besides, messages were lost before this moment.
        this.#revocations.check();
      },
      // They ask again as unreachable, so that an undelivered wake-up is not taken as proof that they died.
      closed: () => this.waiters.wakeAll(),
      message: (channel, message) => {
        if (channel === this.#channel) this.waiters.receive(message);
        else this.#revocations.receive(message);
      },
    }, clock);
    // They ask again, and learn that the client is closed.
    port.connection.listen({ closed: () => this.waiters.wakeAll() });
  }

  static of(client: RedisClient): Wakeups {
    const known = wakeups.get(client) ?? new Wakeups(portOf(client));
    wakeups.set(client, known);
    return known;
  }

  /** The address at which the server wakes the waiters of this client. */
  get address(): string {
    return this.subscription.open ? this.#address : UNREACHABLE;
  }

  /** Returns how a handle that asks waits, as the scripts take it. From then on its wake-ups are kept. */
  waiter(handle: string, group?: string): WaiterInput {
    const ticket = this.waiters.ask(handle);
    if (ticket !== undefined) this.subscription.check();
    return { address: this.address, ticket: ticket ?? "", group };
  }

  /** Records that a handle waits. Returns when it attempts again, and whether it may sleep until then. */
  busy(handle: string, { ticket, retryAfter }: Busy, lease: number): Exclude<Attempt, { granted: true }> {
    if (this.waiters.enqueue(handle, ticket)) this.subscription.start();
    const refused = { granted: false, retryAfter: this.pollAfter(retryAfter, lease) } as const;
    return this.subscription.open ? { ...refused, maySleep: true } : refused;
  }

  leave(handle: string): void {
    this.waiters.remove(handle);
    if (this.port.waitersOnly) this.subscription.closeUnlessWanted();
  }

  /** Wakes all waiters once if the client is cut off before a group's attempt ends: a reply with a run may be lost. */
  wakeIfCut(attempt: Promise<unknown>): void {
    const { connection } = this.port;
    const { cuts } = connection;
    const ended = () => {
      const now = connection.cuts;
      if (cuts === now || this.#cutsSeen === now) return;
      this.#cutsSeen = now;
      this.waiters.wakeAll();
    };
    attempt.then(ended, ended);
  }

  /**
   * Returns when a waiter should ask again, in milliseconds. A waiter that cannot be woken must ask while the lock is
   * reserved for it. The reservation depends on the leases of the others, which are assumed to be as long as its own.
   */
  pollAfter(retryAfter: number, lease: number): number {
    const { pollMs = Infinity } = this.port;
    const reserved = reservationMs(lease);
    if (!this.subscription.open) return Math.min(retryAfter, pollMs, reserved / POLLS_PER_RESERVATION);
    // Where messages may be lost unseen, one poll falls into each reservation all the same.
    return pollMs === Infinity ? retryAfter : Math.min(retryAfter, pollMs, reserved * 2 / POLLS_PER_RESERVATION);
  }

  /** Resolves when a handle's lock is revoked, which `held` checks with the server, or when the signal aborts. */
  revocation(handle: string, held: () => Promise<boolean>, signal: AbortSignal): Promise<Meta | void> {
    if (this.port.waitersOnly) return aborted(signal); // The holder learns it when it renews the lease.
    const revoked = this.#revocations.wait(handle, held, signal);
    if (this.subscription.open) this.#revocations.check(handle); // It may have happened since the lock was granted.
    else this.subscription.start(); // Then the server is asked about all of them.
    return revoked;
  }

  /** Does the same without a request before a message comes; `undefined` while no messages arrive. */
  revocationHeard(
    handle: string,
    held: () => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<Meta | void> | undefined {
    if (this.port.waitersOnly || !this.subscription.open) return undefined;
    const revoked = this.#revocations.wait(handle, held, signal);
    this.#revocations.recall(handle);
    return revoked;
  }
}

/** Returns how long a lock is reserved for the next waiter when handles with this lease release it, in milliseconds. */
export function reservationMs(lease: number): number {
  return Math.min(Math.max(lease, MIN_RESERVATION_MS), RESERVATION_MS);
}
