import { acquireFrom } from "../../../src/acquisition.ts";
import { StoreError } from "../../../src/errors.ts";
import type { Lock } from "../../../src/lock.ts";
import { type AcquireOptions, checkAcquireOptions } from "../../../src/options.ts";
import type { Backend } from "../../../src/stores/cas/mod.ts";
import type { Store } from "../../../src/store.ts";
import { Disturbances } from "../disturbances.ts";
import { Machine } from "../machine.ts";
import { Random } from "../random.ts";
import { World } from "../world.ts";
import { DocumentServer, FAULTLESS } from "./server.ts";
import { type MakeStore, type SimulationOptions, soundStore } from "./simulate.ts";
import { Transitions } from "./transitions.ts";

/** What differs from one run of a schedule to the other. */
interface Variant {
  /** Whether the server has a clock. */
  readonly clock: boolean;
  /** Whether the lock was used before. */
  readonly used: boolean;
  /** Whether locks are handed on inside a client. */
  readonly handsOn: boolean;
}

/** When an abandoned attempt is executed: when nothing of its call is left, in milliseconds. */
const EXECUTED = 9_000;

/** A lease that has not ended then. */
const LEASE = 60_000;

const VARIANTS: readonly Variant[] = [false, true].flatMap((clock) =>
  [false, true].flatMap((used) => [false, true].map((handsOn) => ({ clock, used, handsOn })))
);

/**
 * Lets an attempt be abandoned before its write is executed, which is then the only one: the process releases what it
 * may have taken, and nobody else writes meanwhile. Returns what is wrong. Random seeds do not find that: in them
 * somebody always writes.
 */
export async function abandonAttempts(options: SimulationOptions = {}): Promise<readonly string[]> {
  const violations: string[] = [];
  for (const variant of VARIANTS) violations.push(...await abandonAttempt(variant, options));
  return violations;
}

async function abandonAttempt(variant: Variant, options: SimulationOptions): Promise<readonly string[]> {
  const place = new Place(variant, options);
  const [first, second] = [place.connect("c0"), place.connect("c1")];
  if (variant.used) await place.settled((await place.acquire(first, { lease: LEASE, wait: 0 }))!.release());
  place.server.holdUpWrite(first.machine, EXECUTED);
  const abandoned = await place.acquire(first, { lease: LEASE, wait: 100 });
  await place.pass(2 * EXECUTED);
  if (abandoned !== null) place.violations.push("an attempt was granted that had to be abandoned");
  if (!place.late) place.violations.push("no write was executed late");
  const lock = await place.acquire(second, { lease: LEASE, wait: 0 });
  if (lock === null) place.violations.push(`a is held, although nobody has it: ${JSON.stringify(variant)}`);
  return place.violations;
}

/** A process with a store. */
interface Process {
  readonly machine: Machine;
  readonly store: Store;
}

/** A server and a world in which nothing happens by chance. */
class Place {
  readonly violations: string[] = [];
  readonly server: DocumentServer;
  readonly #world: World;
  readonly #random = new Random(1);
  readonly #transitions = new Transitions();
  readonly #variant: Variant;
  readonly #makeStore: MakeStore;

  constructor(variant: Variant, { log, makeStore = soundStore, serverFlaws = {} }: SimulationOptions) {
    this.#variant = variant;
    this.#makeStore = makeStore;
    this.#world = new World(log);
    const { clock } = variant;
    this.server = new DocumentServer(this.#world, this.#machine("s"), this.#random, {
      quality: FAULTLESS,
      disturbances: new Disturbances(),
      abilities: { clock, timedWrites: true, second: undefined, watch: true, maxBytes: undefined },
      flaws: serverFlaws,
      transitions: this.#transitions,
      violate: (what) => this.violations.push(what),
    });
  }

  /** Whether a write was executed late. */
  get late(): boolean {
    return this.#transitions.times("executed late") > 0;
  }

  connect(name: string): Process {
    const machine = this.#machine(name);
    const settings = { maxClockSkew: 10_000, handsOn: this.#variant.handsOn };
    const backend = this.server.connect(machine) as Backend;
    return { machine, store: this.#makeStore(backend, settings, machine, () => this.#random.next()) };
  }

  /** Acquires the lock; `null` when it is busy, or was not granted in time. */
  async acquire({ machine, store }: Process, options: AcquireOptions): Promise<Lock | null> {
    const settings = checkAcquireOptions({ ...options, renew: false });
    try {
      return await this.settled(acquireFrom(store, "a", settings, machine));
    } catch (error) {
      if (error instanceof StoreError) return null;
      throw error;
    }
  }

  /** Settles like a promise, within a second of the world. */
  async settled<T>(promise: Promise<T>): Promise<T> {
    let over = false;
    const settled = promise.finally(() => over = true);
    settled.catch(() => {});
    if (!await this.#world.run(() => over, this.#world.now + 1_000)) throw new Error("a call does not return");
    return await settled;
  }

  /** Lets time pass. */
  async pass(ms: number): Promise<void> {
    await this.#world.run(() => false, this.#world.now + ms);
  }

  #machine(name: string): Machine {
    return new Machine(this.#world, name, { rate: 1, skew: 0, step: 1 });
  }
}
