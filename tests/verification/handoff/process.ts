import type { Clock, Instant, Timer } from "../../../src/time/clock.ts";
import type { AttemptOptions, Capability, Claim, QueryOptions, Store } from "../../../src/contract/store.ts";
import { sleep } from "../../support/sleep.ts";
import type { Connection } from "./connection.ts";
import { onClock, type Stores } from "./stores.ts";
import type { Host, Turns } from "./turns.ts";

/** The wall clock at virtual time 0. */
const EPOCH = 1_700_000_000_000;

/** The clock of one machine in virtual time. It counts its timers. */
export class HostClock implements Clock {
  readonly #turns: Turns;
  readonly #host: Host | undefined;
  #pending = 0;

  constructor(turns: Turns, host?: Host) {
    this.#turns = turns;
    this.#host = host;
  }

  /** How many timers have neither run nor been cancelled. */
  get pending(): number {
    return this.#pending;
  }

  now(): Instant {
    const { now } = this.#turns;
    return { monotonic: now, wall: EPOCH + now };
  }

  timer(ms: number, run: () => void, from: Instant = this.now()): Timer {
    let over = false;
    const end = () => {
      if (!over) this.#pending--;
      over = true;
    };
    this.#pending++;
    const fire = () => {
      end();
      run();
    };
    const host = this.#host === undefined ? {} : { host: this.#host };
    const timer = this.#turns.at(from.monotonic + Math.max(0, Math.ceil(ms)), fire, { ...host, timer: true });
    return {
      cancel: () => {
        end();
        timer.cancel();
      },
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleep(this, ms, signal);
  }
}

/** One process. Its tasks acquire locks from its stores. */
export class Process implements Host {
  readonly number: number;
  readonly clock: HostClock;
  readonly connection: Connection;
  readonly stores: Stores;
  /** A store that somebody has put around that of the process. */
  readonly decorator: Store;
  stalledUntil = 0;
  /** When something went wrong last. */
  disturbedAt = -Infinity;
  /** When its observer was told of a fault last. */
  faultedAt = -Infinity;
  closedAt: number | undefined;
  disposed = false;

  constructor(number: number, turns: Turns, connect: (host: Process) => Connection, make: (self: Process) => Stores) {
    this.number = number;
    this.clock = new HostClock(turns, this);
    this.connection = connect(this);
    this.stores = make(this);
    this.decorator = onClock(new Decorator(this.stores.store), this.clock);
  }
}

/** Passes all on. */
class Decorator implements Store {
  readonly #store: Store;
  readonly capabilities: readonly Capability[];

  constructor(store: Store) {
    this.#store = store;
    // Whoever lists runs has to pass on more.
    this.capabilities = (store.capabilities ?? []).filter((each) => each !== "runs");
  }

  get closed(): boolean {
    return this.#store.closed ?? false;
  }

  get observer() {
    return this.#store.observer;
  }

  drift(lease: number): number {
    return this.#store.drift(lease);
  }

  attempt(claim: Claim, options: AttemptOptions) {
    return this.#store.attempt(claim, options);
  }

  renew(claim: Claim) {
    return this.#store.renew(claim);
  }

  release(claim: Claim) {
    return this.#store.release(claim);
  }

  wakeup(claim: Claim, signal: AbortSignal) {
    return this.#store.wakeup!(claim, signal);
  }

  revocation(claim: Claim, signal: AbortSignal) {
    return this.#store.revocation!(claim, signal);
  }

  evict(name: string) {
    return this.#store.evict!(name);
  }

  query(options?: QueryOptions) {
    return this.#store.query!(options);
  }
}
