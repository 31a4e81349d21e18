import { HandoffStore } from "../../../src/internal/handoff/handoff_store.ts";
import type { Backend } from "../../../src/stores/cas/mod.ts";
import { CasStore } from "../../../src/stores/cas/store.ts";
import type { Store } from "../../../src/store.ts";
import { Disturbances } from "../disturbances.ts";
import { Invariants } from "../invariants.ts";
import { Machine } from "../machine.ts";
import { Random } from "../random.ts";
import { World } from "../world.ts";
import { draw, type Scenario } from "./scenario.ts";
import { DocumentServer, type ServerFlaws } from "./server.ts";
import { Transitions } from "./transitions.ts";
import { Worker } from "./worker.ts";

/** Makes the store of a client; another one than the shipped one shows what the simulator notices. */
export type MakeStore = (backend: Backend, scenario: Scenario, client: Machine, luck: () => number) => Store;

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

/** For how long a lock may be nobody's although it is waited for, in milliseconds: with faults, and without. */
const RECOVERED = 10_000;
const HANDED_OVER = 700;

const soundStore: MakeStore = (backend, { maxClockSkew, handsOn }, client, luck) => {
  const store = new CasStore(backend, { maxClockSkew, observer: undefined }, client, luck);
  return handsOn ? new HandoffStore(store, client) : store;
};

/** Simulates the run that a seed determines. */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<Outcome> {
  const { log, makeStore = soundStore, serverFlaws = {} } = options;
  const random = new Random(seed);
  const world = new World(log);
  const scenario = draw(random);
  world.trace("", `seed ${seed}: ${JSON.stringify(scenario)}`);
  const disturbances = new Disturbances();
  const clients = scenario.clients.map((drift, i) => new Machine(world, `c${i}`, drift));
  const { leases, workers } = scenario;
  const invariants = new Invariants(world, {
    exclusion: true,
    fenceSlack: 0,
    disturbedUntil: () => disturbances.last,
    longestGap: (_, last) => {
      if (scenario.faults) return RECOVERED + 2 * leases[1] + clients.length * workers * 2_000;
      // What is read once may be old: it is read again after a while.
      const handover = scenario.quality.old > 0 ? HANDED_OVER + 1_000 : HANDED_OVER;
      // Who came after the grant has to watch a holder for its whole lease.
      return last?.lapsed ? handover + leases[1] : handover;
    },
  });
  const machine = new Machine(world, "s", scenario.server);
  const transitions = new Transitions();
  const server = new DocumentServer(world, machine, random.fork(), {
    quality: scenario.quality,
    disturbances,
    abilities: scenario,
    flaws: serverFlaws,
    transitions,
  });
  const working = new Map<Worker, Machine>();
  const stores = new Map<Machine, Store>();
  const employ = (client: Machine, job: (worker: Worker) => Promise<void>) => {
    const place = { world, scenario, invariants, machine: client, store: stores.get(client)! };
    const worker = new Worker(place, random.fork());
    working.set(worker, client);
    job(worker).catch((error) => invariants.violate(`a worker failed: ${error.stack}`)).finally(() =>
      working.delete(worker)
    );
  };
  for (const client of clients) {
    const asks = random.fork();
    client.paused = () => invariants.paused(client);
    client.resumed = () => invariants.resumed(client, asks.chance(0.5));
    client.caughtUp = () => invariants.caughtUp(client);
    const luck = random.fork();
    stores.set(client, makeStore(server.connect(client) as Backend, scenario, client, () => luck.next()));
    for (let i = 0; i < workers; i++) employ(client, (worker) => worker.run());
  }
  if (scenario.faults) schedule(world, random.fork(), scenario, server, clients, disturbances);
  const failed = () => invariants.violations.length > 0;
  const done = () => failed() || [...working.values()].every((machine) => machine.dead);
  const returned = async () => {
    if (await world.run(done, world.now + BOUND)) return;
    for (const [{ doing }, { dead, name }] of working) {
      if (!dead) invariants.violate(`${name} has a call that does not return: ${doing}`);
    }
  };
  await world.run(failed, scenario.length);
  world.trace("", "no more faults");
  disturbances.note(world.now);
  server.restore();
  await returned();
  for (const client of clients) if (!client.dead && !failed()) employ(client, (worker) => worker.acquireAll(Infinity));
  await returned();
  await world.run(failed, world.now + 2_000);
  for (const { name, dead, pending } of clients) {
    if (!dead && pending > 0 && !failed()) invariants.violate(`${pending} timers are left behind on ${name}`);
  }
  return { violations: invariants.violations, granted: invariants.granted, transitions };
}

/** Lets one fault happen after the other, until their time is over. */
function schedule(
  world: World,
  random: Random,
  scenario: Scenario,
  server: DocumentServer,
  clients: readonly Machine[],
  disturbances: Disturbances,
): void {
  const some = () => random.pick(clients);
  const pause = () => {
    const ms = random.spread(2, 8_000);
    disturbances.note(world.now + ms);
    const suspended = scenario.sets === "none" && random.chance(0.5);
    some().pause({ ms, suspended, first: random.pick([undefined, "timer", "message"] as const) });
  };
  const freeze = () => {
    const ms = random.spread(2, 4_000);
    disturbances.note(world.now + ms);
    server.machine.pause({ ms });
  };
  const set = () => {
    disturbances.note(world.now);
    const by = random.spread(10, 30_000) * random.pick([-1, 1]);
    if (scenario.sets === "clients") some().setWall(by);
    // Leases end early where the clock that decides is set forward: no promise is left then.
    else server.machine.setWall(-Math.abs(by));
  };
  const kill = () => {
    if (scenario.deaths && random.chance(0.4) && clients.filter(({ dead }) => !dead).length > 1) some().kill();
  };
  const cut = () => server.cut(some(), random.spread(2, 8_000));
  const faults = [pause, pause, freeze, cut, cut, kill, ...scenario.sets === "none" ? [] : [set]];
  const next = () => {
    world.after(random.spread(scenario.faultGap / 5, scenario.faultGap * 2), () => {
      if (world.now >= scenario.length) return;
      random.pick(faults)();
      next();
    });
  };
  next();
}
