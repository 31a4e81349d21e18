import { HandoffStore } from "../../../src/internal/handoff/handoff_store.ts";
import type { Backend } from "../../../src/stores/cas/mod.ts";
import { CasStore } from "../../../src/stores/cas/store.ts";
import type { Store } from "../../../src/store.ts";
import { Disturbances } from "../disturbances.ts";
import { HandleIds } from "./handle_ids.ts";
import { Invariants } from "../invariants.ts";
import { type Drift, Machine } from "../machine.ts";
import { Random } from "../random.ts";
import { World } from "../world.ts";
import { type Breakable, FaultSchedule, setAtRest, setRight } from "./fault_schedule.ts";
import { draw, type Scenario } from "./scenario.ts";
import { DocumentServer, type ServerFlaws } from "./server.ts";
import { Transitions } from "./transitions.ts";
import { Worker } from "./worker.ts";

/** Makes the store of a client; another one than the shipped one shows what the simulator notices. */
export type MakeStore = (
  backend: Backend,
  scenario: Pick<Scenario, "maxClockSkew" | "handsOn">,
  client: Machine,
  luck: () => number,
) => Store;

/** What is to be simulated besides the seed. */
export interface SimulationOptions {
  readonly log?: ((line: string) => void) | undefined;
  readonly makeStore?: MakeStore | undefined;
  readonly serverFlaws?: ServerFlaws | undefined;
}

/** How a run ended. */
export interface Outcome {
  readonly violations: readonly string[];
  readonly granted: number;
  readonly transitions: Transitions;
}

/** How long after the last fault every call must have returned, in milliseconds. */
const BOUND = 60_000;

/**
 * For how long a lock may be nobody's although it is waited for, in milliseconds: with faults, and without. Who has the turn
 * may give up just before it would look, and the next one looks as late as it.
 */
const RECOVERED = 10_000;
const HANDED_OVER = 1_200;

/** When a loop of crashes begins and ends, and until when the lock is held that its processes wait for, in milliseconds. */
const CRASHES = { from: 1_000, until: 11_000, held: 60_000 } as const;

/** For how long such a process lives, in milliseconds. */
const LIFE = [20, 1_000] as const;

/** Makes the shipped store. */
export const soundStore: MakeStore = (backend, { maxClockSkew, handsOn }, client, luck) => {
  const store = new CasStore(backend, { maxClockSkew, observer: undefined }, client, luck);
  return handsOn ? new HandoffStore(store, client) : store;
};

/** Simulates the run that a seed determines. */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<Outcome> {
  const random = new Random(seed);
  const world = new World(options.log);
  const scenario = draw(random);
  world.trace("", `seed ${seed}: ${JSON.stringify(scenario)}`);
  using _ids = new HandleIds();
  return await new Simulation(world, random, scenario, options).run();
}

/** One run. */
class Simulation {
  readonly #world: World;
  readonly #random: Random;
  readonly #scenario: Scenario;
  readonly #makeStore: MakeStore;
  readonly #disturbances = new Disturbances();
  readonly #transitions = new Transitions();
  readonly #invariants: Invariants;
  readonly #server: DocumentServer;
  /** All processes, also those that have died, but none of a crash loop. */
  readonly #clients: Machine[] = [];
  readonly #stores = new Map<Machine, Store>();
  readonly #working = new Map<Worker, Machine>();

  constructor(
    world: World,
    random: Random,
    scenario: Scenario,
    { makeStore = soundStore, serverFlaws = {} }: SimulationOptions,
  ) {
    this.#world = world;
    this.#random = random;
    this.#scenario = scenario;
    this.#makeStore = makeStore;
    this.#invariants = new Invariants(world, {
      exclusion: true,
      fenceSlack: 0,
      disturbedUntil: () => this.#disturbances.last,
      longestGap: (_, last) => this.#longestGap(last?.lapsed ?? false),
    });
    this.#server = new DocumentServer(world, new Machine(world, "s", scenario.server), random.fork(), {
      quality: scenario.quality,
      disturbances: this.#disturbances,
      abilities: scenario,
      flaws: serverFlaws,
      transitions: this.#transitions,
      violate: (what) => this.#invariants.violate(what),
    });
  }

  async run(): Promise<Outcome> {
    const world = this.#world;
    const { clients, length, faults, crashes, rest } = this.#scenario;
    for (const [i, drift] of clients.entries()) this.#begin(`c${i}`, drift, crashes > 0 && i === 0);
    if (faults) new FaultSchedule(this.#breakable, this.#random.fork());
    if (rest !== undefined) setAtRest(this.#breakable, rest, this.#random.fork());
    if (crashes > 0) this.#crash(0);
    await world.run(this.#failed, length);
    world.trace("", "no more faults");
    this.#disturbances.note(world.now);
    this.#server.restore();
    await this.#returned();
    for (const client of this.#clients) {
      if (!client.dead && !this.#failed()) this.#employ(client, (worker) => worker.acquireAll(Infinity));
    }
    await this.#returned();
    await world.run(this.#failed, world.now + 2_000);
    for (const { name, dead, pending } of this.#clients) {
      if (!dead && pending > 0 && !this.#failed()) {
        this.#invariants.violate(`${pending} timers are left behind on ${name}`);
      }
    }
    const { violations, granted } = this.#invariants;
    return { violations, granted, transitions: this.#transitions };
  }

  readonly #failed = () => this.#invariants.violations.length > 0;

  get #breakable(): Breakable {
    return {
      world: this.#world,
      scenario: this.#scenario,
      server: this.#server,
      disturbances: this.#disturbances,
      clients: this.#clients,
      begin: (name, drift) => this.#begin(name, drift),
    };
  }

  #longestGap(lapsed: boolean): number {
    const { faults, leases, clients, workers, quality } = this.#scenario;
    if (faults) {
      const dead = this.#clients.filter(({ dead }) => dead).length;
      return RECOVERED + 2 * leases[1] + (clients.length + dead) * workers * 2_000;
    }
    // What is read once may be old: it is read again after a while.
    const handover = quality.old > 0 ? HANDED_OVER + 2_000 : HANDED_OVER;
    // Who came after the grant has to watch a holder for its whole lease.
    return lapsed ? handover + leases[1] : handover;
  }

  /** Begins a process, with workers; one of them keeps a lock for long, if that is so. */
  #begin(name: string, drift: Drift, keeps = false): void {
    const client = this.#connect(name, drift);
    this.#clients.push(client);
    const { rest } = this.#scenario;
    if (rest !== undefined && this.#world.now > rest.until) setRight(client, rest.until);
    for (let i = 0; i < this.#scenario.workers; i++) {
      this.#employ(client, (worker) => keeps && i === 0 ? worker.keep(CRASHES.held) : worker.run());
    }
  }

  #connect(name: string, drift: Drift): Machine {
    const invariants = this.#invariants;
    const client = new Machine(this.#world, name, drift);
    const asks = this.#random.fork();
    client.paused = () => invariants.paused(client);
    client.resumed = () => invariants.resumed(client, asks.chance(0.5));
    client.caughtUp = () => invariants.caughtUp(client);
    const luck = this.#random.fork();
    const backend = this.#server.connect(client) as Backend;
    this.#world.on(client, () => {
      this.#stores.set(client, this.#makeStore(backend, this.#scenario, client, () => luck.next()));
    });
    return client;
  }

  #employ(machine: Machine, job: (worker: Worker) => Promise<void>): void {
    const place = {
      world: this.#world,
      scenario: this.#scenario,
      invariants: this.#invariants,
      disturbances: this.#disturbances,
      transitions: this.#transitions,
      machine,
      store: this.#stores.get(machine)!,
    };
    const worker = new Worker(place, this.#random.fork());
    this.#working.set(worker, machine);
    this.#world.on(machine, () => {
      job(worker).catch((error) => this.#invariants.violate(`a worker failed: ${error.stack}`)).finally(() =>
        this.#working.delete(worker)
      );
    });
  }

  /** Lets a process begin, wait and die, and then the next one. */
  #crash(number: number): void {
    const { crashes, clients } = this.#scenario;
    if (number === crashes) return;
    const world = this.#world;
    world.at(CRASHES.from + number * (CRASHES.until - CRASHES.from) / crashes, () => {
      const client = this.#connect(`x${number}`, this.#random.pick(clients));
      this.#employ(client, (worker) => worker.wait());
      world.after(this.#random.spread(...LIFE), () => {
        client.kill();
        this.#disturbances.note(world.now);
        this.#crash(number + 1);
      });
    });
  }

  /** Waits until all calls have returned. */
  async #returned(): Promise<void> {
    const working = this.#working;
    const done = () => this.#failed() || [...working.values()].every((machine) => machine.dead);
    if (await this.#world.run(done, this.#world.now + BOUND)) return;
    for (const [{ doing }, { dead, name }] of working) {
      if (!dead) this.#invariants.violate(`${name} has a call that does not return: ${doing}`);
    }
  }
}
