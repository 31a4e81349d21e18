import { acquireFrom } from "../../../src/lock/acquisition.ts";
import { LockLostError, LockTimeoutError, StoreError } from "../../../src/contract/errors.ts";
import type { Lock } from "../../../src/lock/lock.ts";
import { checkAcquireOptions } from "../../../src/lock/options.ts";
import type { Store } from "../../../src/contract/store.ts";
import type { Invariants } from "../invariants.ts";
import type { Machine } from "../machine.ts";
import type { Random } from "../random.ts";
import type { World } from "../world.ts";
import type { Rest, Scenario } from "./scenario.ts";
import type { Transitions } from "./transitions.ts";

/**
 * A name that is used while nobody uses another one, and the first in any listing: the store then looks for documents that
 * are not used any more.
 */
const ANOTHER = "A";

/** How often that is used, in milliseconds. */
const TENDED = 3_600_000;

/** How often a worker looks at the listing. */
const LISTS = 0.03;

/** How long it waits for that at the most, in milliseconds. */
const LISTED = 500;

/** Locks that are held for so long are not renewed, in milliseconds: only the store itself tells of a loss then. */
const LONG = 30_000;

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
      const { impatient, patience, names } = scenario;
      const wait = this.#random.chance(impatient) ? 0 : this.#random.pick([this.#random.spread(...patience), Infinity]);
      if (this.#random.chance(LISTS)) await this.#query(this.#random.pick(names));
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

  /** Waits for a lock for a while, and releases it. Resolves to whether it was granted. */
  async visit(wait: number): Promise<boolean> {
    const holding = await this.#acquire(this.#place.scenario.names[0]!, wait);
    if (holding !== undefined) await this.#release(holding);
    return holding !== undefined;
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
    while (sweeps === "always" && world.now < until - TENDED) {
      await machine.sleep(TENDED);
      await this.#useAnother();
    }
    // By true time, which the clocks leave behind in days.
    await new Promise<void>((resolve) => void world.at(until, () => machine.deliver(resolve)));
    if (sweeps !== "never" && this.#random.chance(0.5)) await this.#useAnother();
  }

  async #useAnother(): Promise<void> {
    const holding = await this.#acquire(ANOTHER, 0);
    if (holding !== undefined) await this.#release(holding);
  }

  /** Lists a lock, or all locks: what this process holds during all of it must be there, and waiters in their order. */
  async #query(name: string): Promise<void> {
    const { store, scenario, invariants, machine } = this.#place;
    const mine = () => invariants.heldOn(machine).filter((lock) => lock.name === name).map(({ fence }) => fence);
    const before = mine();
    this.#log(`listing ${name}`);
    const asked = this.#random.pick([{ name }, {}, { limit: 1 }]);
    // A request that is lost is never answered.
    const over = machine.sleep(LISTED);
    const listed = await Promise.race([over, store.query?.(asked).catch((error) => this.#log(`query: ${error}`))]);
    // A listing goes by one clock, which may be wrong.
    const { second, sets, quality: { old, leaps } } = scenario;
    const isSteady = second === undefined && sets === "none" && leaps === 0 && old === 0;
    if (!listed || !isSteady || "limit" in asked) return;
    const held = listed.held.filter((entry) => entry.name === name);
    const after = mine();
    for (const fence of before.filter((fence) => after.includes(fence))) {
      // Those that a grant took along are listed under that.
      const isListed = held.some((entry) => scenario.handsOn ? entry.fence! <= fence : entry.fence === fence);
      if (!isListed) invariants.violate(`${machine.name} holds ${name} with fence ${fence}, which is not listed`);
    }
    const ranks = listed.pending.filter((entry) => entry.name === name).map(({ rank }) => rank);
    if (ranks.some((rank, i) => rank !== i)) invariants.violate(`the waiters for ${name} are listed as ${ranks}`);
    if (held.some(({ expiresIn }) => expiresIn! <= 0)) invariants.violate(`a lease of ${name} is listed that is over`);
  }

  /** Takes a lock away from whoever holds it. */
  async #evict(name: string): Promise<void> {
    const { store, scenario, invariants } = this.#place;
    this.#log(`evicting ${name}`);
    try {
      await store.evict?.(name);
    } catch (error) {
      this.#log(`evict: ${error}`);
      if (!scenario.faults) invariants.violate(`no fault, but ${error}`);
    }
  }

  async #acquire(
    name: string,
    wait: number,
    renew = this.#random.pick([true, true, false]) && this.#place.scenario.longestHold < LONG,
  ): Promise<Holding | undefined> {
    const { scenario, invariants, machine, store } = this.#place;
    const lease = Math.ceil(this.#random.between(...scenario.leases));
    const mode = this.#random.chance(scenario.shared) ? "shared" : "exclusive";
    // By default the description differs from one process that simulates to the other, and so does its length.
    const isRevoker = this.#random.chance(scenario.revokes);
    const steal = isRevoker && mode === "exclusive" && wait === 0;
    if (isRevoker && !steal) await this.#evict(name);
    const settings = checkAcquireOptions({ mode, wait, lease, renew, meta: false, ...steal && { steal } });
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
      if (String(error).includes("waiters are in its document")) this.#place.transitions.take("no room for a waiter");
      // A call whose write was refused pauses, perhaps for longer than a short wait.
      const unanswered = machine.now().monotonic - began >= wait;
      if (!scenario.faults && error instanceof StoreError && !unanswered) invariants.violate(`no fault, but ${error}`);
      return undefined;
    }
  }

  async #hold(holding: Holding): Promise<void> {
    const { scenario, machine } = this.#place;
    const { lock } = holding;
    const longest = Math.min(scenario.holding * lock.remaining(), scenario.longestHold);
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
      const lost = error instanceof LockLostError && renewed && scenario.revokes === 0;
      if (!scenario.faults && (lost || error instanceof StoreError)) invariants.violate(`no fault, but ${error}`);
    }
  }

  #log(what: string): void {
    this.doing = what;
    this.#place.world.trace(this.#place.machine.name, what);
  }
}
