import type { Clock } from "../../src/_clock.ts";
import { attainFrom } from "../../src/acquire.ts";
import { LockLostError, LockTimeoutError, StoreError } from "../../src/errors.ts";
import type { Lock } from "../../src/lock.ts";
import { checkAcquireOptions } from "../../src/options.ts";
import type { Store } from "../../src/store.ts";
import type { Invariants } from "./invariants.ts";
import type { Machine } from "./machine.ts";
import type { Random } from "./random.ts";
import type { Scenario } from "./scenario.ts";
import type { World } from "./world.ts";

/** What the workers of one run share. */
export interface Surroundings {
  readonly world: World;
  readonly scenario: Scenario;
  readonly invariants: Invariants;
}

/** How much longer than `wait` an acquire may take by the machine's clock, in milliseconds. */
const PUNCTUAL = 2;

/** Nobody keeps a lock for much longer than this, in milliseconds, however long its lease is. */
const LONGEST_HOLD = 3_000;

class Abandoned extends Error {}

/** Acquires locks, holds and releases them, one after the other, as users do. */
export class Worker {
  readonly #around: Surroundings;
  readonly #machine: Machine;
  readonly #store: Store;
  readonly #random: Random;
  readonly #clock: Clock;
  /** What it is at, for those who wonder why it does not end. */
  doing = "nothing yet";

  constructor(around: Surroundings, machine: Machine, store: Store, random: Random) {
    this.#around = around;
    this.#machine = machine;
    this.#clock = machine;
    this.#store = store;
    this.#random = random;
  }

  /** Works until the storm is over; what it is at then it brings to an end. */
  async run(): Promise<void> {
    while (this.#around.world.now < this.#around.scenario.length) {
      this.#tell("thinking");
      await this.#clock.sleep(this.#random.spread(1, 1_000));
      const lock = await this.#acquire();
      if (lock !== undefined) await this.#hold(lock);
    }
    this.#tell("done");
  }

  async #acquire(): Promise<{ lock: Lock; over: () => void } | undefined> {
    const { scenario, invariants } = this.#around;
    const name = this.#random.pick(scenario.names);
    const lease = Math.ceil(this.#random.between(...scenario.leases));
    const mode = this.#random.chance(scenario.shared) ? "shared" : "exclusive";
    const wait = this.#random.pick([0, 0, this.#random.spread(20, 10_000), Infinity, Infinity, Infinity]);
    const renew = this.#random.pick([true, true, true, false, Math.ceil(lease / 5)]);
    const patience = new AbortController();
    const impatient = this.#random.chance(0.15)
      ? this.#clock.timer(this.#random.spread(1, 5_000), () => patience.abort(new Abandoned()))
      : undefined;
    const settings = checkAcquireOptions({ mode, wait, renew, lease, signal: patience.signal });
    this.#tell(`acquiring ${name} (${mode}), lease ${lease} ms, wait ${wait.toFixed(0)} ms`);
    const call = invariants.called(name, this.#machine);
    const began = this.#clock.now().monotonic;
    const { pauses } = this.#machine;
    try {
      const lock = await attainFrom(this.#store, name, settings, this.#clock);
      this.#tell(lock === null ? `${name} is busy` : `got ${name}, fence ${lock.fence}`);
      return lock === null ? undefined : { lock, over: invariants.got(call, lock) };
    } catch (error) {
      this.#tell(`told: ${error}`);
      if (!(error instanceof LockTimeoutError || error instanceof StoreError || error instanceof Abandoned)) {
        invariants.violate(`acquire failed with ${error}`);
      }
      if (scenario.weather === "calm" && error instanceof StoreError) invariants.violate(`no fault, but ${error}`);
      const took = this.#clock.now().monotonic - began;
      if (error instanceof LockTimeoutError && took > wait + PUNCTUAL && pauses === this.#machine.pauses) {
        invariants.violate(`told ${took - wait} ms late that ${name} was busy`);
      }
      return undefined;
    } finally {
      impatient?.cancel();
    }
  }

  async #hold({ lock, over }: { lock: Lock; over: () => void }): Promise<void> {
    const { invariants, scenario } = this.#around;
    const lease = Math.min(lock.remaining(), LONGEST_HOLD);
    try {
      await this.#clock.sleep(this.#random.spread(1, 2 * lease), this.#random.chance(0.5) ? lock.signal : undefined);
      if (this.#random.chance(0.2)) await lock.extend(Math.ceil(this.#random.between(...scenario.leases)));
      if (this.#random.chance(0.5)) await this.#clock.sleep(this.#random.spread(1, lease));
    } catch (error) {
      this.#tell(`extend: ${error}`);
      if (!(error instanceof LockLostError || error instanceof StoreError || error instanceof RangeError)) {
        invariants.violate(`extend failed with ${error}`);
      }
    }
    this.#tell(`releasing ${lock.name}`);
    const released = lock.release();
    over();
    try {
      await released;
    } catch (error) {
      this.#tell(`release: ${error}`);
      if (!(error instanceof LockLostError || error instanceof StoreError)) {
        invariants.violate(`release failed with ${error}`);
      }
      if (scenario.weather === "calm" && error instanceof StoreError) invariants.violate(`no fault, but ${error}`);
    }
  }

  #tell(what: string): void {
    this.doing = what;
    this.#around.world.trace(this.#machine.name, what);
  }
}
