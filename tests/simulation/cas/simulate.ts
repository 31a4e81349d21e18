import { HandoffStore } from "../../../src/handoff/handoff_store.ts";
import type { Backend } from "../../../src/engine/mod.ts";
import type { RemoteWaiters } from "../../../src/engine/own_waiters.ts";
import { CasStore } from "../../../src/engine/store.ts";
import { TURN_MS } from "../../../src/engine/period.ts";
import { HandoffPlace } from "../../../src/handoff/place.ts";
import type { Store } from "../../../src/contract/store.ts";
import { Disturbances } from "../kernel/disturbances.ts";
import { numberedIds } from "../kernel/runtime.ts";
import type { Fences } from "../../verification/exclusion.ts";
import { Invariants } from "../invariants.ts";
import { type Drift, Machine } from "../kernel/machine.ts";
import { Random } from "../kernel/random.ts";
import { World } from "../kernel/world.ts";
import type { Engine } from "./engine.ts";
import { type Breakable, FaultSchedule, setAtRest, setRight } from "./fault_schedule.ts";
import { Host, HOSTED, HostedStore } from "./hosted_store.ts";
import { observedStore } from "./observed_store.ts";
import { APART, draw, type Scenario, WRONG } from "./scenario.ts";
import { DocumentServer, type ServerFlaws } from "./server.ts";
import { Transitions } from "./transitions.ts";
import { type ChangedDocument, type Promises, Waiting } from "./waiting.ts";
import { Worker } from "./worker.ts";

/** What is to be simulated besides the seed. */
export interface SimulationOptions {
  readonly log?: ((line: string) => void) | undefined;
  /** Another engine than the shipped one shows what the simulator notices. */
  readonly engine?: Engine | undefined;
  readonly serverFlaws?: ServerFlaws | undefined;
}

/** How a run ended. */
export interface Outcome {
  readonly violations: readonly string[];
  readonly granted: number;
  readonly transitions: Transitions;
  /**
   * The longest time until a waiter was woken that had the turn, or was struck off, with nothing in the way, in
   * milliseconds.
   */
  readonly longestSleep: number;
}

/**
 * How long after the last fault, and the lease of one that has died, every call must have returned, in milliseconds.
 */
const BOUND = 60_000;

/**
 * For how long a lock may be nobody's although it is waited for, in milliseconds: with faults, and without. Who has the
 * turn may give up just before it would look, and the next one looks as late as it.
 */
const RECOVERED = 10_000;
const HANDED_OVER = 1_200;

/** How long after the end of a turn somebody has noticed that, in milliseconds. */
const NOTICED = 500;

/**
 * When a loop of crashes begins and ends, and until when the lock is held that its processes wait for, in milliseconds.
 */
const CRASHES = { from: 1_000, until: 11_000, held: 60_000 } as const;

/** For how long such a process lives, in milliseconds. */
const LIFE = [20, 1_000] as const;

/** When a sleeping waiter is woken at the latest, in milliseconds: who polls, who is told, and if that fails. */
const WOKEN = { polling: 2_000, told: 1_500, looking: 6_500 } as const;

/**
 * When a holder knows at the latest that its lock was taken away, in milliseconds: who polls, and who looks beside a
 * watch.
 */
const KNOWN = { polling: 5_000, looking: 12_000 } as const;

/** For how long a store object sweeps at the end of a rest, so that nothing is left, in milliseconds. */
const SWEPT = 6 * 3_600_000;

/** When the holder is killed that processes want to succeed, in milliseconds. */
const KILLED = [500, 5_000] as const;

/** For how long such a process waits, and when the next one comes, in milliseconds. The shortest lease is 3 s. */
const VISIT = [100, 2_500] as const;
const VISIT_GAP = [10, 1_500] as const;

/** When the next process comes in a crowd, in milliseconds. */
const COMES = [50, 1_500] as const;

/** How many of them are killed at the most, and how often one is. */
const DEAD_VISITORS = 2;
const VISITOR_DIES = 0.1;

/** How long after the end of a lease, or of the turn of a dead process, one of them has found that, in milliseconds. */
const FOUND = 2 * (VISIT[1] + VISIT_GAP[1]);

/** How much longer than the lease or the turn a timer runs, and is over later, in milliseconds. */
const TIMED = 2_000;

/** Simulates the run that a seed determines. */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<Outcome> {
  const random = new Random(seed);
  const world = new World(options.log);
  const scenario = draw(random, seed);
  world.trace("", `seed ${seed}: ${JSON.stringify(scenario)}`);
  using _ids = numberedIds();
  return await new Simulation(world, random, scenario, options).run();
}

/** One run. */
class Simulation {
  readonly #world: World;
  readonly #random: Random;
  readonly #scenario: Scenario;
  readonly #engine: Engine | undefined;
  readonly #waiting: Waiting;
  readonly #host: Host | undefined;
  readonly #disturbances = new Disturbances();
  readonly #transitions = new Transitions();
  readonly #invariants: Invariants;
  readonly #server: DocumentServer;
  /** All processes, also those that have died, but none of a crash loop, and how many of such a loop have died. */
  readonly #clients: Machine[] = [];
  #crashed = 0;
  readonly #stores = new Map<Machine, Store>();
  readonly #working = new Map<Worker, Machine>();

  constructor(
    world: World,
    random: Random,
    scenario: Scenario,
    { engine, serverFlaws = {} }: SimulationOptions,
  ) {
    this.#world = world;
    this.#random = random;
    this.#scenario = scenario;
    this.#engine = engine;
    this.#invariants = new Invariants(world, {
      exclusion: true,
      fenceSlack: 0,
      disturbedUntil: () => this.#disturbances.last,
      reservation: 0,
      longestGap: (_, last) => this.#longestGap(last?.lapsed ?? false),
    });
    this.#server = new DocumentServer(world, new Machine(world, "s", scenario.server), random.fork(), {
      quality: scenario.quality,
      disturbances: this.#disturbances,
      abilities: scenario,
      flaws: serverFlaws,
      transitions: this.#transitions,
      changed: (change) => this.#changed(change),
      violate: (what) => this.#invariants.violate(what),
    });
    if (scenario.hosted) {
      this.#host = new Host({
        world,
        random: random.fork(),
        make: (machine) => this.#makeStore(machine, this.#server.connect(machine) as Backend, HOSTED),
        name: scenario.names[0]!,
        ended: () => this.#disturbances.note(world.now + HOSTED.graceMs),
      });
    }
    this.#waiting = new Waiting(world, this.#disturbances, this.#promises, (what) => this.#invariants.violate(what));
  }

  async run(): Promise<Outcome> {
    const world = this.#world;
    const { clients, length, faults, crashes, rest, shortWaits, visitors } = this.#scenario;
    for (const [i, drift] of clients.entries()) this.#begin(`c${i}`, drift, (shortWaits || crashes > 0) && i === 0);
    if (faults) new FaultSchedule(this.#breakable, this.#random.fork());
    if (rest !== undefined) {
      setAtRest(this.#breakable, rest, this.#random.fork());
      world.at(rest.until, () => this.#server.checkSwept(rest.from + SWEPT, SWEPT));
    }
    if (crashes > 0) this.#crash(0);
    this.#host?.endThem(length);
    if (shortWaits) this.#killHolder();
    if (visitors) this.#comeAndGo(0);
    await world.run(this.#failed, length);
    world.trace("", "no more faults");
    this.#disturbances.note(world.now);
    this.#server.restore();
    await this.#returned();
    for (const client of this.#clients) {
      if (!this.#server.isGone(client) && !this.#failed()) {
        this.#employ(client, (worker) => worker.acquireAll(Infinity));
      }
    }
    await this.#returned();
    await world.run(this.#failed, world.now + 2_000);
    if (!this.#failed()) this.#invariants.checkTimers(this.#clients);
    for (const client of this.#clients) {
      const watches = this.#server.watches(client);
      if (!client.dead && watches.length > 0 && !this.#failed()) {
        this.#invariants.violate(`${client.name} still watches ${watches}`);
      }
    }
    const { violations, granted } = this.#invariants;
    return { violations, granted, transitions: this.#transitions, longestSleep: this.#waiting.longest };
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
    const { faults, leases, clients, quality, cohort } = this.#scenario;
    const linger = cohort?.linger ?? 0;
    if (faults) {
      const dead = this.#clients.filter((client) => this.#server.isGone(client)).length + this.#crashed;
      // Each process may miss one turn, however many waiters it has. Who reads an old document begins to watch anew.
      const turn = (quality.old > 0 ? 2 : 1) * (TURN_MS + NOTICED);
      return RECOVERED + linger + 2 * leases[1] + (clients.length + dead) * turn;
    }
    // What is read once may be old: it is read again after a while.
    const handover = linger + (quality.old > 0 ? HANDED_OVER + 2_000 : HANDED_OVER);
    // Who came after the grant has to watch a holder for its whole lease.
    return lapsed ? handover + leases[1] : handover;
  }

  /** Begins a process, with workers; one of them keeps a lock for long, if that is so. */
  #begin(name: string, drift: Drift, keeps = false): void {
    const client = this.#connect(name, drift);
    this.#clients.push(client);
    const { rest } = this.#scenario;
    if (rest !== undefined && this.#world.now > rest.until) setRight(client, rest.until);
    if (this.#scenario.many && this.#clients.length === 1) this.#employ(client, (worker) => worker.useMany());
    for (let i = 0; i < this.#scenario.workers; i++) {
      this.#employ(client, (worker) => keeps && i === 0 ? worker.keep(CRASHES.held) : worker.run());
    }
  }

  #connect(name: string, drift: Drift): Machine {
    const client = new Machine(this.#world, name, drift);
    this.#invariants.judge(client, this.#random.fork());
    const backend = this.#server.connect(client) as Backend;
    this.#world.on(client, () => {
      const store = this.#host === undefined
        ? this.#makeStore(client, backend)
        : new HostedStore(this.#host, client, this.#waiting);
      this.#stores.set(client, this.#handsOn(store, client));
    });
    return client;
  }

  #handsOn(store: Store, client: Machine): Store {
    const { handsOn, cohort, closed } = this.#scenario;
    if (!handsOn && cohort === undefined) return store;
    // Callers have no other way to the store, as with cas(), or have the store itself.
    return new HandoffStore(store, client, cohort, closed ? new HandoffPlace(store) : undefined);
  }

  #makeStore(machine: Machine, backend: Backend, remote?: RemoteWaiters): CasStore {
    const luck = this.#random.fork();
    const settings = { maxClockSkew: this.#scenario.maxClockSkew, observer: undefined, remote };
    if (remote !== undefined) return new (this.#engine ?? CasStore)(backend, settings, machine, () => luck.next());
    return observedStore({
      waiting: this.#waiting,
      client: machine,
      backend,
      settings,
      clock: machine,
      luck: () => luck.next(),
      engine: this.#engine,
    });
  }

  /** What waiters are promised in this run. */
  get #promises(): Promises {
    const { watch, hosted, sets, quality: { missed, lost, old, leaps, delayed } } = this.#scenario;
    const isTold = watch && missed === 0 && lost === 0;
    // What is read once may be old: it is read again after a while.
    const wake = old > 0 ? 3 * WOKEN.looking : !watch ? WOKEN.polling : isTold ? WOKEN.told : WOKEN.looking;
    // A request that is lost is not answered for up to 2 s, and so may be the next.
    const lossy = lost > 0 ? WOKEN.looking : 0;
    const isSteady = sets === "none" && leaps === 0;
    return {
      wake: hosted ? Infinity : wake + lossy,
      keepsAsleep: !hosted && isSteady && lost === 0 && missed === 0 && old === 0 && delayed === 0,
      keepsPlaces: !hosted,
      ...hosted && {
        kept: () => ({ since: this.#host!.startedAt, until: this.#host!.startedAt + HOSTED.graceMs - 10 }),
      },
    };
  }

  #changed(change: ChangedDocument): void {
    const { name, before, after } = change;
    this.#waiting.changed(change);
    this.#waiting.check();
    const revoked = after.revoked?.handles.flatMap((handle) => {
      const holder = after.holders.has(handle) ? undefined : before.holders.get(handle);
      return holder?.fence ?? [];
    }) ?? [];
    const { watch, quality: { lost } } = this.#scenario;
    const within = (watch ? KNOWN.looking : KNOWN.polling) * (lost > 0 ? 5 : 1);
    for (const fence of revoked) this.#invariants.revoked(name, { fence, last: before.fence }, within);
    for (const fences of passing(change)) this.#invariants.revoked(name, fences, within);
  }

  #employ(machine: Machine, job: (worker: Worker) => Promise<void>): void {
    const place = {
      world: this.#world,
      scenario: this.#scenario,
      invariants: this.#invariants,
      transitions: this.#transitions,
      server: this.#server,
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
        this.#crashed++;
        this.#disturbances.note(world.now);
        this.#crash(number + 1);
      });
    });
  }

  /** Kills the only process, which holds the lock, and lets others come. */
  #killHolder(): void {
    const world = this.#world;
    world.at(this.#random.spread(...KILLED), () => {
      this.#clients[0]!.kill();
      this.#disturbances.note(world.now);
      this.#visit({ number: 0, killedAt: world.now, dead: 0 });
    });
  }

  /**
   * Lets a process begin that waits for less than the lease of the killed holder, and the next one if it gets nothing.
   */
  #visit(
    { number, killedAt, dead }: { readonly number: number; readonly killedAt: number; readonly dead: number },
  ): void {
    const world = this.#world;
    const { clients, leases, maxClockSkew, timers } = this.#scenario;
    const { rate, step } = clients[0]!;
    const skew = this.#random.between(-1, 1) * (timers ? WRONG : maxClockSkew / 2 - APART);
    const client = this.#connect(`x${number}`, { rate, step, skew });
    const wait = this.#random.spread(...VISIT);
    const isKilled = dead < DEAD_VISITORS && this.#random.chance(VISITOR_DIES);
    const next = (after: number) =>
      world.after(after, () => this.#visit({ number: number + 1, killedAt, dead: isKilled ? dead + 1 : dead }));
    this.#employ(client, async (worker) => {
      if (await worker.visit(wait)) return;
      const ms = world.now - killedAt;
      const each = timers ? TIMED + FOUND : 2 * maxClockSkew + FOUND;
      const longest = (timers ? 1.5 : 1) * leases[1] + dead * TURN_MS + (1 + dead) * each;
      if (ms > longest) {
        this.#invariants.violate(`nobody is granted the lock, ${ms.toFixed(0)} ms after its holder was killed`);
      } else next(this.#random.spread(...VISIT_GAP));
    });
    if (!isKilled) return;
    const life = wait * this.#random.next() / 2;
    world.after(life, () => {
      client.kill();
      this.#disturbances.note(world.now);
      next(this.#random.spread(...VISIT_GAP));
    });
  }

  /** Lets a process come, want the lock and end, and then the next one. */
  #comeAndGo(number: number): void {
    const world = this.#world;
    world.after(this.#random.spread(...COMES), () => {
      if (world.now > this.#scenario.length) return;
      const client = this.#connect(`v${number}`, this.#random.pick(this.#scenario.clients));
      this.#employ(client, async (worker) => void await worker.visit(this.#random.spread(...VISIT)));
      this.#comeAndGo(number + 1);
    });
  }

  /** Waits until all calls have returned. */
  async #returned(): Promise<void> {
    const working = this.#working;
    const done = () => this.#failed() || [...working.values()].every((machine) => machine.dead);
    if (await this.#world.run(done, this.#world.now + BOUND + this.#scenario.leases[1])) return;
    for (const [{ doing }, { dead, name }] of working) {
      if (!dead) this.#invariants.violate(`${name} has a call that does not return: ${doing}`);
    }
  }
}

/**
 * Returns between which fences those lie that were granted and revoked by one write: their holders are in neither
 * document.
 */
function passing({ before, after }: ChangedDocument): Required<Fences>[] {
  const handles = after.revoked?.handles ?? [];
  if (handles.join() === before.revoked?.handles.join() || handles.every((handle) => before.holders.has(handle))) {
    return [];
  }
  const ranges: Required<Fences>[] = [];
  let fence = before.fence + 1n;
  const present = Array.from(after.holders.values(), (holder) => holder.fence ?? 0n).filter((each) => each >= fence);
  for (const end of [...present.sort((a, b) => Number(a - b)), after.fence + 1n]) {
    if (end > fence) ranges.push({ fence, last: end - 1n });
    fence = end + 1n;
  }
  return ranges;
}
