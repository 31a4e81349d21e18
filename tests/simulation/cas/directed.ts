import { acquireFrom } from "../../../src/lock/acquisition.ts";
import { StoreError } from "../../../src/contract/errors.ts";
import type { Lock } from "../../../src/lock/lock.ts";
import { type AcquireOptions, checkAcquireOptions } from "../../../src/lock/options.ts";
import { HandoffStore } from "../../../src/handoff/handoff_store.ts";
import type { Backend } from "../../../src/engine/mod.ts";
import { CasStore } from "../../../src/engine/store.ts";
import { TURN_MS } from "../../../src/engine/period.ts";
import type { Store } from "../../../src/contract/store.ts";
import type { Engine } from "./engine.ts";
import { Disturbances } from "../kernel/disturbances.ts";
import { Machine } from "../kernel/machine.ts";
import { Random } from "../kernel/random.ts";
import { World } from "../kernel/world.ts";
import { DocumentServer, FAULTLESS } from "./server.ts";
import type { SimulationOptions } from "./simulate.ts";
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

/**
 * Lets a waiter give up at the moment at which it gets the turn, on a server that tells of news alone. The next one
 * must be granted the lock soon, which nobody but the first one knows to be its own. Returns what is wrong.
 */
export async function giveUpTheTurn(options: SimulationOptions = {}): Promise<readonly string[]> {
  const place = new Place({ clock: true, used: false, handsOn: false }, options, true);
  const [first, second, third] = [place.connect("c0"), place.connect("c1"), place.connect("c2")];
  const held = (await place.acquire(first, { lease: LEASE, wait: 0 }))!;
  const givingUp = new AbortController();
  const waits = place.start(second, { lease: LEASE, signal: givingUp.signal }).catch(() => {});
  await place.pass(100);
  const next = place.start(third, { lease: LEASE });
  await place.pass(100);
  place.turnGiven = () => {
    // The next one has seen by then that it is not its turn.
    if (!givingUp.signal.aborted) place.server.holdUpWrite(second.machine, 500);
    givingUp.abort();
  };
  await place.settled(held.release());
  await place.settled(waits);
  try {
    // Sooner than it looks by itself.
    await place.settled(next, 1_000);
  } catch (error) {
    place.violations.push(`the next waiter has the turn and sleeps: ${error}`);
  }
  return place.violations;
}

/**
 * Lets one reply tell a time that is wrong by more than the longer of two leases, while only the shorter one has ended.
 * Nobody may be granted the lock. Returns what is wrong. Random seeds rarely tell a wrong time at that moment.
 */
export async function tellWrongTime(options: SimulationOptions = {}): Promise<readonly string[]> {
  const place = new Place({ clock: true, used: false, handsOn: false }, options);
  const [first, second, third] = [place.connect("c0"), place.connect("c1"), place.connect("c2")];
  const held = await place.acquire(first, { lease: LEASE, wait: 0, mode: "shared" });
  await place.acquire(second, { lease: 1_000, wait: 0, mode: "shared" });
  await place.pass(2_000);
  place.ahead = 2 * LEASE;
  const lock = await place.acquire(third, { lease: LEASE, wait: 0 });
  if (place.ahead > 0) place.violations.push("no wrong time was told");
  if (lock !== null && held?.held) place.violations.push("both hold a: c0 and c2");
  return place.violations;
}

/** How many waiters a process has that misses its turn, and for how long it does nothing, in milliseconds. */
const WAITERS = 5;
const PAUSED = 10_000;

/**
 * Lets a process with several waiters miss its turn. That must cost the next one in the queue one turn, and once the
 * process is back its waiters must be served before those that came after them. Returns what is wrong.
 */
export async function missTheTurn(options: SimulationOptions = {}): Promise<readonly string[]> {
  const violations: string[] = [];
  for (const clock of [false, true]) {
    for (const news of [false, true]) {
      const place = new Place({ clock, used: false, handsOn: false }, options, news);
      violations.push(...await missTurn(place));
    }
  }
  return violations;
}

async function missTurn(place: Place): Promise<readonly string[]> {
  const processes = ["c0", "c1", "c2", "c3"].map((name) => place.connect(name));
  const [holder, slow, next, last] = processes as [Process, Process, Process, Process];
  const held = (await place.acquire(holder, { lease: LEASE, wait: 0 }))!;
  const order: string[] = [];
  const serve = async ({ machine, store }: Process) => {
    const lock = await place.start({ machine, store }, { lease: LEASE });
    order.push(machine.name);
    if (machine === next.machine) await machine.sleep(PAUSED);
    await lock!.release();
  };
  const served: Promise<void>[] = [];
  for (const process of [...Array<Process>(WAITERS).fill(slow), next, last]) {
    served.push(serve(process));
    await place.pass(50);
  }
  slow.machine.pause({ ms: PAUSED, suspended: false });
  await place.settled(held.release());
  await place.pass(2 * TURN_MS);
  if (order.length === 0) place.violations.push("the next process waits for more than one turn");
  await place.settled(Promise.all(served), 3 * PAUSED);
  const expected = ["c2", ...Array<string>(WAITERS).fill("c1"), "c3"];
  if (order.join() !== expected.join()) place.violations.push(`the order is ${order}, not ${expected}`);
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
  /** Called when a waiter gets the turn. */
  turnGiven: () => void = () => {};
  /** How far the time that is told next is ahead, in milliseconds; once. */
  ahead = 0;
  readonly server: DocumentServer;
  readonly #world: World;
  readonly #random = new Random(1);
  readonly #transitions = new Transitions();
  readonly #variant: Variant;
  readonly #engine: Engine;

  constructor(variant: Variant, { log, engine = CasStore, serverFlaws = {} }: SimulationOptions, news = false) {
    this.#variant = variant;
    this.#engine = engine;
    this.#world = new World(log);
    const { clock } = variant;
    this.server = new DocumentServer(this.#world, this.#machine("s"), this.#random, {
      quality: FAULTLESS,
      disturbances: new Disturbances(),
      abilities: {
        clock,
        timedWrites: true,
        timers: false,
        second: undefined,
        watch: true,
        news,
        page: 100,
        maxBytes: undefined,
      },
      flaws: { otherTime: (time) => this.#told(time), ...serverFlaws },
      transitions: this.#transitions,
      changed: ({ after }) => after.turn !== undefined && this.turnGiven(),
      violate: (what) => this.violations.push(what),
    });
  }

  /** Whether a write was executed late. */
  get late(): boolean {
    return this.#transitions.times("executed late") > 0;
  }

  connect(name: string): Process {
    const machine = this.#machine(name);
    const settings = { maxClockSkew: 10_000, observer: undefined };
    const backend = this.server.connect(machine) as Backend;
    const store = new this.#engine(backend, settings, machine, () => this.#random.next());
    return { machine, store: this.#variant.handsOn ? new HandoffStore(store, machine) : store };
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

  /** Begins to acquire the lock. */
  start({ machine, store }: Process, options: AcquireOptions): Promise<Lock | null> {
    return acquireFrom(store, "a", checkAcquireOptions({ ...options, renew: false }), machine);
  }

  /** Settles like a promise, within so many milliseconds of the world. */
  async settled<T>(promise: Promise<T>, within = 5_000): Promise<T> {
    let over = false;
    const settled = promise.finally(() => over = true);
    settled.catch(() => {});
    if (!await this.#world.run(() => over, this.#world.now + within)) throw new Error("a call does not return");
    return await settled;
  }

  /** Lets time pass. */
  async pass(ms: number): Promise<void> {
    await this.#world.run(() => false, this.#world.now + ms);
  }

  #told(time: number): number {
    const told = time + this.ahead;
    this.ahead = 0;
    return told;
  }

  #machine(name: string): Machine {
    return new Machine(this.#world, name, { rate: 1, skew: 0, step: 1 });
  }
}
