import type { Instant } from "../../../src/time/clock.ts";
import type { Attempt, AttemptOptions, Claim, Renewal, Store } from "../../../src/contract/store.ts";
import { PassingStore } from "../../support/passing_store.ts";
import { SimulatedClock } from "../kernel/simulated_clock.ts";
import type { Connection } from "./connection.ts";
import { onClock, type Stores } from "./stores.ts";
import type { Host, Turns } from "./turns.ts";

/** The wall clock at virtual time 0. */
const EPOCH = 1_700_000_000_000;

/** The clock of one machine, or of the server. */
export class HostClock extends SimulatedClock {
  readonly #turns: Turns;
  readonly #host: Host | undefined;

  constructor(turns: Turns, host?: Host) {
    super();
    this.#turns = turns;
    this.#host = host;
  }

  override now(): Instant {
    const { now } = this.#turns;
    return { monotonic: now, wall: EPOCH + now };
  }

  protected override after(ms: number, run: () => void, from: Instant = this.now()): () => void {
    const host = this.#host === undefined ? {} : { host: this.#host };
    const at = from.monotonic + Math.max(0, Math.ceil(ms));
    return this.#turns.at(at, run, { ...host, timer: true }).cancel;
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
class Decorator extends PassingStore {
  readonly #door: Door;
  // Whoever lists runs has to pass on more.
  override readonly capabilities = (this.store.capabilities ?? []).filter((each) => each !== "runs");

  constructor(store: Store, door: Door) {
    super(store);
    this.#door = door;
  }

  override attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    // Whoever was not answered asks again: of two answers the later one counts.
    if (this.#door.doubles()) super.attempt(claim, options).catch(() => {});
    return this.#answer(claim, super.attempt(claim, options));
  }

  override renew(claim: Claim): Promise<Renewal> {
    if (this.#door.doubles()) this.#door.later(() => void super.renew(claim).catch(() => {}));
    return this.#answer(claim, super.renew(claim));
  }

  override release(claim: Claim): Promise<boolean> {
    if (this.#door.doubles()) this.#door.later(() => void super.release(claim).catch(() => {}));
    return this.#answer(claim, super.release(claim));
  }

  async #answer<T>(claim: Claim, answer: Promise<T>): Promise<T> {
    const value = await answer;
    if (this.#door.loses(claim)) throw new Error("the reply was lost at the door");
    return value;
  }
}
