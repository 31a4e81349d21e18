import type { CohortSettings } from "../../src/composed/cohort/options.ts";
import { HandoffCohort } from "../../src/composed/cohort/cohort.ts";
import { Handoff } from "../../src/internal/handoff/handoff.ts";
import type { Clock } from "../../src/internal/clock.ts";
import type { Store } from "../../src/store.ts";
import type { QuorumNode } from "../../src/composed/redlock/quorum_node.ts";
import { RedlockStore } from "../../src/composed/redlock/store.ts";
import { Dealings } from "./dealings.ts";
import { describe } from "./describe.ts";
import { Disturbances } from "./disturbances.ts";
import { Handles } from "./handles.ts";
import { HostTime } from "./host_time.ts";
import { Inspection } from "./inspection.ts";
import { type Assumptions, Invariants } from "./invariants.ts";
import { Machine } from "./machine.ts";
import { Network } from "./network.ts";
import { type Kept, type MakeStore, Node, soundStore } from "./node.ts";
import { ObservedNode } from "./observed_node.ts";
import { ObservedProcess } from "./observed_process.ts";
import { ObservedRuns } from "./observed_runs.ts";
import { Random } from "./random.ts";
import { SimulatedRedis } from "./redis_client.ts";
import { RemoteNode } from "./remote_node.ts";
import type { Run } from "./run.ts";
import { draw, DRIFT_FACTOR, FENCES_AHEAD, OLDEST, type Scenario } from "./scenario.ts";
import { KeptScripts } from "./script_node.ts";
import { FaultSchedule } from "./fault_schedule.ts";
import { Transitions } from "./transitions.ts";
import { Watch } from "./watch.ts";
import { Worker } from "./worker.ts";
import { World } from "./world.ts";
import { serverStore } from "../support/server_store.ts";

/** What is to be simulated besides the seed. */
export interface SimulationOptions {
  /** Gets the log, line by line. */
  readonly log?: ((line: string) => void) | undefined;
  /** Makes the stores of the nodes; others than sound ones show what the simulator notices. */
  readonly makeStore?: MakeStore | undefined;
  /** Makes what hands a run on inside a client; another one than `Handoff` shows what the simulator notices. */
  readonly makeRuns?: MakeRuns | undefined;
  /** Makes the cohort of a client; another one than `HandoffCohort` shows what the simulator notices. */
  readonly makeCohort?: MakeCohort | undefined;
}

/** Makes the store that hands on what another one grants. */
export type MakeRuns = (store: Store, clock: Clock) => Store;

/** Makes the store whose handles share one place in another one. */
export type MakeCohort = (store: Store, settings: CohortSettings, clock: Clock) => Store;

const soundCohort: MakeCohort = (store, settings, clock) => new HandoffCohort(store, clock, settings);

const soundRuns: MakeRuns = (store, clock) => new Handoff(store, clock);

/** How a run ended. */
export interface Outcome {
  readonly seed: number;
  /** What happened that must not; nothing when all is well. */
  readonly violations: readonly string[];
  /** How many locks were granted. */
  readonly granted: number;
  /** How many events there were. */
  readonly events: number;
  /** How long it took after the last fault until every call had returned, in milliseconds of the world. */
  readonly settledAfter: number;
  /** See {@linkcode Invariants.longestGap}. */
  readonly longestGap: number;
  /** What Redlock did on its way. */
  readonly transitions: Transitions;
}

/** How long after the last fault every call must have returned, in milliseconds. */
const BOUND = 40_000;

/** How long after that the last leases, releases and messages are over, in milliseconds. */
const AFTERMATH = 30_000;

/** The same when nothing has failed: nothing has to wait for the end of a lease. */
const FAULTLESS_AFTERMATH = 2_000;

/** The same when leases are longer than that and nobody has died: what was left behind is still there then. */
const LONG_AFTERMATH = 9_000;

/** How long a handoff may take at the worst: a few attempts that come to nothing, in milliseconds. */
const HANDOFF = 5_000;

/** How far ahead of its own clock a node lets its counter be set, in milliseconds. */
const MAX_CLOCK_SKEW = 10_000;

/** The owner of locks that nobody who is simulated holds. */
const STRANGER = "other";

/** How long they last, in milliseconds. */
const FOREVER = 1e9;

/** Simulates the run that a seed determines. */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<Outcome> {
  const random = new Random(seed);
  const world = new World(options.log);
  const scenario = draw(random, seed);
  world.trace("", `seed ${seed}: ${describe(scenario)}`);
  if (scenario.nodeKind === "memory") return await live(seed, world, scenario, random, options);
  using _time = new HostTime(world, random.fork());
  return await live(seed, world, scenario, random, options);
}

async function live(
  seed: number,
  world: World,
  scenario: Scenario,
  random: Random,
  { makeStore = soundStore, ...processes }: SimulationOptions,
): Promise<Outcome> {
  const run = prepare(world, scenario, random);
  const { invariants, transitions } = run;
  const machines = scenario.nodes.map((drift, i) => new Machine(world, `n${i}`, drift));
  const { nodes, connect } = scenario.nodeKind === "memory"
    ? memoryNodes(run, machines, makeStore)
    : scriptNodes(run, random.fork(), machines);
  const clients = scenario.clients.map((drift, i) => new Machine(world, `c${i}`, drift));
  const inspection = new Inspection(run, random.fork(), nodes);
  const working = new Map<Worker, Machine>();
  for (const client of clients) {
    listen(client, invariants, random.fork());
    const luck = random.fork();
    world.on(client, () => {
      const shared = storeOf(scenario, connect(client), client, () => luck.next());
      const store = storeOfProcess(run, shared, client, processes);
      for (let i = 0; i < scenario.workers; i++) {
        const worker = new Worker(run, inspection, client, store, random.fork());
        working.set(worker, client);
        worker.run().catch((error) => invariants.violate(`a worker failed: ${error.stack}`)).finally(() => {
          working.delete(worker);
        });
      }
    });
  }
  new FaultSchedule(run, random.fork(), nodes, clients);
  const failed = () => invariants.violations.length > 0;
  await world.run(failed, scenario.length);
  world.trace("", "no more faults");
  run.disturbances.note(world.now);
  run.network.restore();
  const done = () => failed() || [...working.values()].every((machine) => machine.dead);
  if (!await world.run(done, scenario.length + BOUND)) {
    for (const [worker, machine] of working) {
      if (!machine.dead) invariants.violate(`${machine.name} has a call that does not return: ${worker.doing}`);
    }
  }
  const settledAfter = world.now - scenario.length;
  await world.run(failed, world.now + aftermath(scenario));
  if (!failed()) await checkNothingLeft(run, nodes, clients);
  const { violations, granted, longestGap } = invariants;
  return { seed, violations, granted, events: world.events, settledAfter, longestGap, transitions };
}

function prepare(world: World, scenario: Scenario, random: Random): Run {
  const invariants = new Invariants(world, assumptions(scenario));
  const disturbances = new Disturbances();
  const handles = new Handles();
  const transitions = new Transitions();
  return {
    world,
    scenario,
    network: new Network(world, random.fork(), scenario.quality, disturbances),
    disturbances,
    handles,
    dealings: new Dealings(world, handles, transitions),
    invariants,
    watch: new Watch(world, invariants, scenario.nodes.length, scenario.theme === "cohorts"),
    transitions,
  };
}

function listen(client: Machine, invariants: Invariants, asks: Random): void {
  client.paused = () => invariants.paused(client);
  client.resumed = () => invariants.resumed(client, asks.chance(0.5));
  client.caughtUp = () => invariants.caughtUp(client);
}

/** The servers of a run, and how a client gets to them. */
interface Servers {
  readonly nodes: readonly Node[];
  readonly connect: (client: Machine) => readonly QuorumNode[];
}

function memoryNodes(run: Run, machines: readonly Machine[], makeStore: MakeStore): Servers {
  const nodes = machines.map((machine) => new Node(run.world, machine, () => makeStore(machine)));
  take(run, nodes, (store, name) => {
    return store.attempt({ name, owner: STRANGER, mode: "exclusive", lease: FOREVER }, { enqueue: false });
  });
  return {
    nodes,
    connect: (client) => nodes.map((node) => new ObservedNode(run, client, node, new RemoteNode(run, client, node))),
  };
}

function scriptNodes(run: Run, random: Random, machines: readonly Machine[]): Servers {
  const nodes = machines.map((machine) => new Node(run.world, machine, () => new KeptScripts(machine)));
  take(run, nodes, (kept, name) => Promise.resolve(kept.take(name, STRANGER)));
  return {
    nodes,
    connect: (client) =>
      nodes.map((node) => {
        const store = serverStore(new SimulatedRedis(run, random.fork(), client, node));
        return run.scenario.single ? store : new ObservedNode(run, client, node, store);
      }),
  };
}

/** Has somebody else take all locks of one node, if that is so in this run. */
function take<K extends Kept>(
  { scenario: { taken, names } }: Run,
  nodes: readonly Node<K>[],
  take: (kept: K, name: string) => Promise<unknown>,
): void {
  if (taken === undefined) return;
  for (const name of names) nodes[taken]!.receive((kept) => take(kept, name), () => {}, () => {});
}

function storeOf(
  { single, nodeTimeout }: Scenario,
  nodes: readonly QuorumNode[],
  clock: Machine,
  luck: () => number,
): Store {
  if (single) return nodes[0]!;
  const settings = { nodeTimeout, maxClockSkew: MAX_CLOCK_SKEW, driftFactor: DRIFT_FACTOR, observer: undefined };
  return new RedlockStore(nodes, settings, clock, luck);
}

/** Returns the store as the handles of a process use it. */
function storeOfProcess(
  run: Run,
  store: Store,
  client: Machine,
  { makeRuns = soundRuns, makeCohort = soundCohort }: Pick<SimulationOptions, "makeRuns" | "makeCohort">,
): Store {
  const { handsOn, cohort } = run.scenario;
  if (handsOn) return makeRuns(new ObservedRuns(store, run), client);
  if (cohort === undefined) return store;
  return makeCohort(new ObservedProcess(store, run), cohort, client);
}

function assumptions(
  { faults, exclusion, wipes, apart, fences, handsOn, cohort, length, leases, deaths }: Scenario,
): Assumptions {
  return {
    exclusion,
    fenceSlack: wipes === "none" ? 0 : apart + (fences > 1 || handsOn || cohort !== undefined ? FENCES_AHEAD : 0),
    undisturbedFrom: faults === "none" ? 0 : length + OLDEST,
    longestGap: (deaths && faults !== "none" ? leases[1] : 0) + HANDOFF,
  };
}

function aftermath({ faults, deaths }: Scenario): number {
  if (faults === "none") return FAULTLESS_AFTERMATH;
  return deaths ? AFTERMATH : LONG_AFTERMATH;
}

/** Checks that there is no holder any more; a queue entry without a sign of life is passed over. */
async function checkNothingLeft(
  { invariants }: Run,
  nodes: readonly Node[],
  clients: readonly Machine[],
): Promise<void> {
  for (const node of nodes) {
    const { held } = await node.look();
    for (const { name, owner } of held) {
      if (owner !== STRANGER) invariants.violate(`${name} is left behind on ${node.machine.name}`);
    }
  }
  for (const { name, dead, pending } of clients) {
    if (!dead && pending > 0) invariants.violate(`${pending} timers are left behind on ${name}`);
  }
}
