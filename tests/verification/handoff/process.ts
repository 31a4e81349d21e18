import type { Clock, Instant, Timer } from "../../../src/time/clock.ts";
import type { AttemptOptions, Capability, Claim, EvictOptions, Store } from "../../../src/contract/store.ts";
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

  constructor(
    number: number,
    turns: Turns,
    connect: (host: Process) => Connection,
    make: (self: Process) => Stores,
    door: (self: Process) => Door,
  ) {
    this.number = number;
    this.clock = new HostClock(turns, this);
    this.connection = connect(this);
    this.stores = make(this);
    this.decorator = onClock(new Decorator(this.stores.store, door(this)), this.clock);
  }
}

/** What goes wrong between a caller and a store. */
export interface Door {
  /** Returns whether a call is made twice. */
  doubles(): boolean;
  /** Returns whether the reply to a call of a claim is lost. */
  loses(claim: Claim): boolean;
  /** Runs something later. */
  later(run: () => void): void;
}

/** Passes all on, perhaps twice, and the answers, perhaps not. */
class Decorator implements Store {
  readonly #store: Store;
  readonly #door: Door;
  readonly capabilities: readonly Capability[];
  readonly evict?: (name: string, options?: EvictOptions) => Promise<number>;
  readonly query?: NonNullable<Store["query"]>;

  constructor(store: Store, door: Door) {
    this.#store = store;
    this.#door = door;
    if (store.evict !== undefined) this.evict = (name, options) => store.evict!(name, options);
    if (store.query !== undefined) this.query = (options) => store.query!(options);
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
    // Whoever was not answered asks again: of two answers the later one counts.
    if (this.#door.doubles()) this.#store.attempt(claim, options).catch(() => {});
    return this.#answer(claim, this.#store.attempt(claim, options));
  }

  renew(claim: Claim) {
    if (this.#door.doubles()) this.#door.later(() => void this.#store.renew(claim).catch(() => {}));
    return this.#answer(claim, this.#store.renew(claim));
  }

  release(claim: Claim) {
    if (this.#door.doubles()) this.#door.later(() => void this.#store.release(claim).catch(() => {}));
    return this.#answer(claim, this.#store.release(claim));
  }

  forget(claim: Claim) {
    this.#store.forget?.(claim);
  }

  async #answer<T>(claim: Claim, answer: Promise<T>): Promise<T> {
    const value = await answer;
    if (this.#door.loses(claim)) throw new Error("the reply was lost at the door");
    return value;
  }

  wakeup(claim: Claim, signal: AbortSignal) {
    return this.#store.wakeup!(claim, signal);
  }

  revocation(claim: Claim, signal: AbortSignal) {
    return this.#store.revocation!(claim, signal);
  }
}
