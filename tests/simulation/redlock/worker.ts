import type { Clock } from "../../../src/time/clock.ts";
import { acquireFrom } from "../../../src/lock/acquisition.ts";
import { LockLostError, LockTimeoutError, QuorumError, StoreError } from "../../../src/contract/errors.ts";
import type { Lock } from "../../../src/lock/lock.ts";
import { checkAcquireOptions } from "../../../src/lock/options.ts";
import type { Mode, Store } from "../../../src/contract/store.ts";
import { type Handle, runFor } from "./handles.ts";
import type { Inspection } from "./inspection.ts";
import type { Machine } from "../kernel/machine.ts";
import { ObservedStore } from "./observed_store.ts";
import type { Random } from "../kernel/random.ts";
import type { Run } from "./run.ts";

/** How much longer than its wait an acquire may take by the machine's clock, in milliseconds. */
const PUNCTUAL = 2;

/** How long a first attempt may take to be answered, whatever the wait is, and what it may hold to be released. */
const FIRST_ANSWER = 10_000;
const UNDOING = 1_000;

/** Nobody keeps a lock for much longer than this, in milliseconds, however long its lease is. */
const LONGEST_HOLD = 3_000;

/** How often the lease of one lock is changed by each of those who do, at the most. */
const MOST_EXTENDS = 4;

/** The longest time between two renewals where locks are to be restored, in milliseconds. */
const OFTEN = 200;

/** A lock that a worker has. */
interface Holding {
  readonly lock: Lock;
  readonly handle: Handle;
  /** Whether it is renewed. */
  readonly renewed: boolean;
  /** To be called when it is released. */
  readonly over: () => void;
}

class Abandoned extends Error {}

/** Acquires locks, holds and releases them, one after the other, as users do. */
export class Worker {
  readonly #run: Run;
  readonly #inspection: Inspection;
  readonly #machine: Machine;
  readonly #store: Store;
  readonly #random: Random;
  readonly #clock: Clock;
  /** What it does at present, for the report when it does not end. */
  doing = "nothing yet";

  constructor(run: Run, inspection: Inspection, machine: Machine, store: Store, random: Random) {
    this.#run = run;
    this.#inspection = inspection;
    this.#machine = machine;
    this.#clock = machine;
    this.#store = store;
    this.#random = random;
  }

  /** Works until no more faults happen; what it is at then it brings to an end. */
  async run(): Promise<void> {
    while (this.#run.world.now < this.#run.scenario.length) {
      this.#log("thinking");
      await this.#clock.sleep(this.#random.spread(1, this.#run.scenario.thinking));
      const lock = await this.#acquire();
      if (lock !== undefined) await this.#hold(lock);
    }
    this.#log("done");
  }

  async #acquire(): Promise<Holding | undefined> {
    const { scenario, invariants, handles, transitions, world } = this.#run;
    const name = this.#random.pick(scenario.names);
    const lease = Math.ceil(this.#random.between(...scenario.leases));
    const mode = this.#random.chance(scenario.shared) ? "shared" : "exclusive";
    const wait = this.#random.pick([0, 0, this.#random.spread(20, 10_000), Infinity, Infinity, Infinity]);
    const often = scenario.theme === "restored locks" ? Math.ceil(Math.min(lease / 5, OFTEN)) : undefined;
    const renew = often ?? this.#random.pick([true, true, true, false, Math.ceil(lease / 5)]);
    const abandoning = new AbortController();
    const began = this.#clock.now().monotonic;
    const took = () => this.#clock.now().monotonic - began;
    let due = wait > 0 ? wait : Infinity;
    let abandonedAt = Infinity;
    const abandon = () => {
      abandonedAt = took();
      due = Math.min(due, abandonedAt);
      abandoning.abort(new Abandoned());
    };
    const impatient = this.#random.chance(0.15) ? this.#clock.timer(this.#random.spread(1, 5_000), abandon) : undefined;
    const settings = checkAcquireOptions({ mode, wait, renew, lease, signal: abandoning.signal });
    this.#log(`acquiring ${name} (${mode}), lease ${lease} ms, wait ${wait.toFixed(0)} ms`);
    const call = invariants.called(name, this.#machine);
    const wish = this.#fences(mode);
    const handle = handles.make({ name, mode, client: this.#machine, lease, calledAt: world.now, wish });
    const store = new ObservedStore(this.#store, handle, this.#run, this.#random.fork());
    const { pauses } = this.#machine;
    try {
      const lock = await runFor(handle, () => acquireFrom(store, name, settings, this.#clock));
      this.#log(lock === null ? `${name} is busy` : `got ${name}, fence ${lock.fence}`);
      if (lock === null) return undefined;
      handle.grantedAt = world.now;
      const fences = handle.fences.get(lock.fence) ?? 1;
      const what = fences > 1 ? "block" : "lock";
      transitions.take(handle.confirming === 0n ? `${what} granted in one trip` : `${what} granted in two trips`);
      if (fences < wish) transitions.take("fewer fences granted than wished for");
      if (handle.queued.size > 0) transitions.take("lock granted after waiting");
      const over = [invariants.got(call, lock, fences), this.#inspection.granted(handle, lock)];
      return { lock, handle, renewed: renew !== false, over: () => over.forEach((end) => end()) };
    } catch (error) {
      this.#log(`rejected: ${error}`);
      if (error instanceof LockTimeoutError) transitions.take("wait timed out");
      if (error instanceof Abandoned) transitions.take("wait aborted");
      if (error instanceof QuorumError) transitions.take("acquire failed with a quorum error");
      if (!(error instanceof LockTimeoutError || error instanceof StoreError || error instanceof Abandoned)) {
        invariants.violate(`acquire failed with ${error}`);
      }
      // Nodes may take longer to answer than a short wait.
      const unanswered = took() >= due;
      if (scenario.faults === "none" && error instanceof StoreError && !unanswered) {
        invariants.violate(`no fault, but ${error}`);
      }
      return undefined;
    } finally {
      impatient?.cancel();
      // A call that is not abandoned is given its first answer, and releases what it may hold.
      const latest = Math.min(abandonedAt, Math.max(due, FIRST_ANSWER) + UNDOING);
      if (took() > latest + PUNCTUAL && pauses === this.#machine.pauses) {
        invariants.violate(`acquires ${name} for ${took() - due} ms after its wait was over`);
      }
      if (handle.grantedAt === undefined) {
        handle.endedAt = world.now;
        if (handle.head !== undefined) transitions.take("member of a run gave up");
      }
    }
  }

  /** Returns how many fences are wished for: by a lock that others share never more than one. */
  #fences(mode: Mode): number {
    const { fences: most, handsOn, cohort } = this.#run.scenario;
    if (most === 1 || mode === "shared" || cohort !== undefined) return 1;
    const some = this.#random.integer(1, most / 10);
    // Who wishes for several is granted no run.
    return this.#random.pick(handsOn ? [1, 1, some, most] : [some, most, most]);
  }

  async #hold(holding: Holding): Promise<void> {
    const { lock } = holding;
    const lease = Math.min(lock.remaining(), LONGEST_HOLD);
    const longest = Math.min(this.#run.scenario.holding * lease, 2 * LONGEST_HOLD);
    await this.#clock.sleep(this.#random.spread(1, longest), this.#random.chance(0.5) ? lock.signal : undefined);
    await Promise.all(Array.from({ length: this.#random.pick([1, 1, 2]) }, () => this.#extend(holding)));
    // Where sections are as long as a cohort may keep a lock it hands nothing on.
    const { keep = lease } = this.#run.scenario.cohort ?? {};
    if (this.#random.chance(0.5)) await this.#clock.sleep(this.#random.spread(1, Math.min(lease, keep)));
    await this.#release(holding);
  }

  /** Changes the lease, perhaps while it is being renewed. */
  async #extend({ lock }: Holding): Promise<void> {
    const { scenario, invariants } = this.#run;
    try {
      for (let times = 0; times < MOST_EXTENDS && this.#random.chance(scenario.extended); times++) {
        await lock.extend(Math.ceil(this.#random.between(...scenario.leases)));
        await this.#clock.sleep(this.#random.spread(1, Math.min(scenario.leases[1], LONGEST_HOLD) / 2));
      }
    } catch (error) {
      this.#log(`extend: ${error}`);
      if (!(error instanceof LockLostError || error instanceof StoreError || error instanceof RangeError)) {
        invariants.violate(`extend failed with ${error}`);
      }
    }
  }

  async #release({ lock, handle, over, renewed }: Holding): Promise<void> {
    // A check of the lock from outside can settle what a killed process had awaited. It does nothing any more.
    if (this.#machine.dead) return;
    const { invariants, scenario, world, disturbances, transitions } = this.#run;
    this.#log(`releasing ${lock.name}`);
    const released = lock.release();
    over();
    try {
      await released;
    } catch (error) {
      this.#log(`release: ${error}`);
      if (!(error instanceof LockLostError || error instanceof StoreError)) {
        invariants.violate(`release failed with ${error}`);
      }
      if (error instanceof LockLostError) transitions.take("lock lost");
      const disturbed = disturbances.until(this.#machine) >= handle.calledAt;
      if (error instanceof LockLostError && renewed && scenario.exclusion && !disturbed) {
        invariants.violate(`${lock.name} was lost though nothing was wrong: ${error}`);
      }
      if (scenario.faults === "none" && error instanceof StoreError) invariants.violate(`no fault, but ${error}`);
    } finally {
      handle.endedAt = world.now;
    }
  }

  #log(what: string): void {
    this.doing = what;
    this.#run.world.trace(this.#machine.name, what);
  }
}
