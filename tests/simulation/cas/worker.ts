import { acquireFrom } from "../../../src/acquisition.ts";
import { LockLostError, LockTimeoutError, StoreError } from "../../../src/errors.ts";
import type { Lock } from "../../../src/lock.ts";
import { checkAcquireOptions } from "../../../src/options.ts";
import type { Store } from "../../../src/store.ts";
import type { Disturbances } from "../disturbances.ts";
import type { Invariants } from "../invariants.ts";
import type { Machine } from "../machine.ts";
import type { Random } from "../random.ts";
import type { World } from "../world.ts";
import type { Rest, Scenario } from "./scenario.ts";
import type { Transitions } from "./transitions.ts";

/** Nobody keeps a lock for longer, in milliseconds. */
const LONGEST_HOLD = 6_000;

/** A name that is used once after a rest: the store then looks for documents that are not used any more. */
const ANOTHER = "z";

/**
 * How long after the last death of a process there is room for a waiter again, in milliseconds: 30 s until a roll call
 * is due, 5 s for the answers, and until somebody looks after that.
 */
const ROOM = 45_000;

/** A lock that a worker has, and what is called when it is released. */
interface Holding {
  readonly lock: Lock;
  /** Whether it is renewed. */
  readonly renewed: boolean;
  readonly over: () => void;
}

/** What a worker works on. */
export interface Workplace {
  readonly world: World;
  readonly scenario: Scenario;
  readonly invariants: Invariants;
  readonly disturbances: Disturbances;
  readonly transitions: Transitions;
  readonly machine: Machine;
  readonly store: Store;
}

/** Acquires locks, holds and releases them, one after the other, as users do. */
export class Worker {
  readonly #place: Workplace;
  readonly #random: Random;
  /** What it does at present. */
  doing = "nothing yet";

  constructor(place: Workplace, random: Random) {
    this.#place = place;
    this.#random = random;
  }

  /** Works until no more faults happen. */
  async run(): Promise<void> {
    const { world, scenario, machine } = this.#place;
    const { rest } = scenario;
    while (world.now < scenario.length) {
      if (rest !== undefined && world.now >= rest.from && world.now < rest.until) await this.#rest(rest);
      this.#log("thinking");
      await machine.sleep(this.#random.spread(1, scenario.thinking));
      const { impatient, names } = scenario;
      const wait = this.#random.chance(impatient) ? 0 : this.#random.pick([this.#random.spread(20, 10_000), Infinity]);
      const holding = await this.#acquire(this.#random.pick(names), wait);
      if (holding !== undefined) await this.#hold(holding);
    }
    this.#log("done");
  }

  /** Holds a lock for long, then works as usual. */
  async keep(until: number): Promise<void> {
    const { world, scenario, machine } = this.#place;
    const holding = await this.#acquire(scenario.names[0]!, Infinity, true);
    if (holding !== undefined) {
      await machine.sleep(until - world.now);
      await this.#release(holding);
    }
    await this.run();
  }

  /** Waits for a lock for as long as its process lives. */
  async wait(): Promise<void> {
    const holding = await this.#acquire(this.#place.scenario.names[0]!, Infinity);
    if (holding !== undefined) await this.#release(holding);
  }

  /** Acquires each lock once more: whatever was left behind must have ended. */
  async acquireAll(wait: number): Promise<void> {
    for (const name of this.#place.scenario.names) {
      const holding = await this.#acquire(name, wait);
      if (holding !== undefined) await this.#release(holding);
      else this.#place.invariants.violate(`${name} is not free although nothing fails any more`);
    }
    this.#log("done");
  }

  async #rest({ until, sweeps }: Rest): Promise<void> {
    const { world, machine } = this.#place;
    this.#log("resting");
    // By true time, which the clocks leave behind in days.
    await new Promise<void>((resolve) => void world.at(until, () => machine.deliver(resolve)));
    if (!sweeps || !this.#random.chance(0.5)) return;
    const holding = await this.#acquire(ANOTHER, 0);
    if (holding !== undefined) await this.#release(holding);
  }

  async #acquire(name: string, wait: number, renew = this.#random.pick([true, true, false])): Promise<
    Holding | undefined
  > {
    const { scenario, invariants, machine, store } = this.#place;
    const lease = Math.ceil(this.#random.between(...scenario.leases));
    const mode = this.#random.chance(scenario.shared) ? "shared" : "exclusive";
    // By default the description differs from one process that simulates to the other, and so does its length.
    const settings = checkAcquireOptions({ mode, wait, lease, renew, meta: false });
    this.#log(`acquiring ${name} (${mode}), lease ${lease} ms, wait ${wait.toFixed(0)} ms`);
    const call = invariants.called(name, machine);
    const began = machine.now().monotonic;
    try {
      const lock = await acquireFrom(store, name, settings, machine);
      this.#log(lock === null ? `${name} is busy` : `got ${name}, fence ${lock.fence}`);
      return lock === null ? undefined : { lock, renewed: renew, over: invariants.got(call, lock, 1) };
    } catch (error) {
      this.#log(`rejected: ${error}`);
      if (!(error instanceof LockTimeoutError || error instanceof StoreError)) {
        invariants.violate(`acquire failed with ${(error as Error).stack}`);
      }
      if (String(error).includes("waiters are in its document")) this.#noRoom(name);
      // A call whose write was refused pauses, perhaps for longer than a short wait.
      const unanswered = machine.now().monotonic - began >= wait;
      if (!scenario.faults && error instanceof StoreError && !unanswered) invariants.violate(`no fault, but ${error}`);
      return undefined;
    }
  }

  /** Notes that a document had no room: only processes that live, or have died not long ago, may fill it. */
  #noRoom(name: string): void {
    const { world, scenario, invariants, disturbances, transitions } = this.#place;
    transitions.take("no room for a waiter");
    const ms = world.now - disturbances.last;
    if (scenario.crashes > 0 && ms > ROOM) {
      invariants.violate(`no room to wait for ${name}, ${ms.toFixed(0)} ms after a process died`);
    }
  }

  async #hold(holding: Holding): Promise<void> {
    const { scenario, machine } = this.#place;
    const { lock } = holding;
    const longest = Math.min(scenario.holding * lock.remaining(), LONGEST_HOLD);
    await machine.sleep(
      this.#random.spread(1, Math.max(2, longest)),
      this.#random.chance(0.5) ? lock.signal : undefined,
    );
    await this.#release(holding);
  }

  async #release({ lock, renewed, over }: Holding): Promise<void> {
    const { machine, invariants, scenario } = this.#place;
    if (machine.dead) return;
    this.#log(`releasing ${lock.name}`);
    const released = lock.release();
    over();
    try {
      await released;
    } catch (error) {
      this.#log(`release: ${error}`);
      const expected = error instanceof LockLostError || error instanceof StoreError;
      if (!expected) invariants.violate(`release failed with ${(error as Error).stack}`);
      const lost = error instanceof LockLostError && renewed;
      if (!scenario.faults && (lost || error instanceof StoreError)) invariants.violate(`no fault, but ${error}`);
    }
  }

  #log(what: string): void {
    this.doing = what;
    this.#place.world.trace(this.#place.machine.name, what);
  }
}
