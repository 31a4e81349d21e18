import type { HandoffSettings } from "../../../src/handoff/context.ts";
import { HandoffStore } from "../../../src/handoff/handoff_store.ts";
import type { HandoffPlace } from "../../../src/handoff/place.ts";
import type { Clock } from "../../../src/time/clock.ts";
import type { Store } from "../../../src/contract/store.ts";
import type { QuorumNode } from "../../../src/contract/quorum_node.ts";
import { RedlockStore } from "../../../src/redlock/store.ts";
import { checkRedisOptions } from "../../../src/stores/redis/options.ts";
import { ServerStore } from "../../../src/stores/redis/store.ts";
import { Wakeups } from "../../../src/stores/redis/wakeups/wakeups.ts";
import { Dealings } from "./dealings.ts";
import { describe } from "./describe.ts";
import { Disturbances } from "../kernel/disturbances.ts";
import { Handles } from "./handles.ts";
import { hostTime } from "../kernel/runtime.ts";
import { Inspection } from "./inspection.ts";
import { type Assumptions, Invariants } from "../invariants.ts";
import { Machine } from "../kernel/machine.ts";
import { Network } from "./network.ts";
import { type Kept, type MakeStore, Node, soundStore } from "./node.ts";
import { ObservedNode } from "./observed_node.ts";
import { ObservedTarget } from "./observed_target.ts";
import { Random } from "../kernel/random.ts";
import { SimulatedRedis } from "./redis_client.ts";
import { RemoteNode } from "./remote_node.ts";
import type { Redlock } from "./redlock.ts";
import type { Run } from "./run.ts";
import { draw, DRIFT_FACTOR, FENCES_AHEAD, MAX_CLOCK_SKEW, type Scenario } from "./scenario.ts";
import { KeptScripts } from "./script_node.ts";
import { FaultSchedule } from "./fault_schedule.ts";
import { Transitions } from "./transitions.ts";
import { Watch } from "./watch.ts";
import { Worker } from "./worker.ts";
import { World } from "../kernel/world.ts";

/** What is to be simulated besides the seed. */
export interface SimulationOptions {
  /** Gets the log, line by line. */
  readonly log?: ((line: string) => void) | undefined;
  /** Makes the stores of the nodes; others than sound ones show what the simulator notices. */
  readonly makeStore?: MakeStore | undefined;
  /** Makes what hands locks on inside a client; another one than `HandoffStore` shows what the simulator notices. */
  readonly makeHandoff?: MakeHandoff | undefined;
  /** The class of Redlock: the shipped one, or one whose branches are counted. */
  readonly redlock?: Redlock | undefined;
}

/** Makes the store that hands on what another one grants; a cohort, if there are settings. */
export type MakeHandoff = (
  store: Store,
  clock: Clock,
  settings?: HandoffSettings,
  place?: HandoffPlace,
) => HandoffStore;

const soundHandoff: MakeHandoff = (...made) => new HandoffStore(...made);

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

/** How long a handoff may take at the most where nothing fails, in milliseconds. */
const HANDOFF = 60;

/** The same where only the next poll finds the lock free. */
const POLLED = 1_500;

/** The same after faults, when the lock may be kept for a few waiters that are gone. */
const RECOVERED = 10_000;

/** For how long a lock is kept for a waiter, in milliseconds. */
const RESERVED = 1_500;

/** The owner of locks that nobody who is simulated holds. */
const RIVAL = "other";

/** How long they last, in milliseconds. */
const FOREVER = 1e9;

/** Simulates the run that a seed determines. */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<Outcome> {
  const random = new Random(seed);
  const world = new World(options.log);
  const scenario = draw(random, seed);
  world.trace("", `seed ${seed}: ${describe(scenario)}`);
  if (scenario.nodeKind === "memory") return await live(seed, world, scenario, random, options);
  using _time = hostTime(world, random.fork());
  return await live(seed, world, scenario, random, options);
}

async function live(
  seed: number,
  world: World,
  scenario: Scenario,
  random: Random,
  { makeStore = soundStore, makeHandoff = soundHandoff, redlock = RedlockStore }: SimulationOptions,
): Promise<Outcome> {
  const clients = scenario.clients.map((drift, i) => new Machine(world, `c${i}`, drift));
  const run = prepare(world, scenario, random, clients);
  const { invariants, transitions } = run;
  const machines = scenario.nodes.map((drift, i) => new Machine(world, `n${i}`, drift));
  const { nodes, connect } = scenario.nodeKind === "memory"
    ? memoryNodes(run, machines, makeStore)
    : scriptNodes(run, random.fork(), machines);
  const inspection = new Inspection(run, random.fork(), nodes);
  const working = new Map<Worker, Machine>();
  for (const client of clients) {
    invariants.judge(client, random.fork());
    const luck = random.fork();
    world.on(client, () => {
      const shared = storeOf(scenario, connect(client), client, redlock, () => luck.next());
      const stores = storesOfProcess(run, shared, client, makeHandoff);
      for (let i = 0; i < scenario.workers; i++) {
        const worker = new Worker(run, inspection, client, stores[i % stores.length]!, random.fork());
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

function prepare(world: World, scenario: Scenario, random: Random, clients: readonly Machine[]): Run {
  const disturbances = new Disturbances();
  const invariants = new Invariants(world, assumptions(scenario, disturbances, clients));
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

/** The servers of a run, and how a client gets to them. */
interface Servers {
  readonly nodes: readonly Node[];
  readonly connect: (client: Machine) => readonly QuorumNode[];
}

function memoryNodes(run: Run, machines: readonly Machine[], makeStore: MakeStore): Servers {
  const nodes = machines.map((machine) => new Node(run.world, machine, () => makeStore(machine)));
  take(run, nodes, (store, name) => {
    return store.attempt({ name, owner: RIVAL, mode: "exclusive", lease: FOREVER }, { enqueue: false });
  });
  return {
    nodes,
    connect: (client) => nodes.map((node) => new ObservedNode(run, client, node, new RemoteNode(run, client, node))),
  };
}

function scriptNodes(run: Run, random: Random, machines: readonly Machine[]): Servers {
  const nodes = machines.map((machine) => new Node(run.world, machine, () => new KeptScripts(machine)));
  take(run, nodes, (kept, name) => Promise.resolve(kept.take(name, RIVAL)));
  return {
    nodes,
    connect: (client) =>
      nodes.map((node) => {
        const redis = new SimulatedRedis(run, random.fork(), client, node);
        const store = new ServerStore(Wakeups.of(redis), checkRedisOptions(redis, {}));
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
  RedlockOfRun: Redlock,
  luck: () => number,
): Store {
  if (single) return nodes[0]!;
  const settings = { nodeTimeout, maxClockSkew: MAX_CLOCK_SKEW, driftFactor: DRIFT_FACTOR, observer: undefined };
  return new RedlockOfRun(nodes, settings, clock, luck);
}

/** Returns the stores that the handles of a process use: one, or a cohort and what that was made of. */
function storesOfProcess(run: Run, store: Store, client: Machine, makeHandoff: MakeHandoff): readonly Store[] {
  const { single, handsOn, cohort, besides } = run.scenario;
  if (!handsOn) return [store];
  const target = new ObservedTarget(store, run);
  const plain = single ? makeHandoff(target, client) : undefined;
  if (cohort === undefined) return [plain!];
  const kept = makeHandoff(target, client, cohort, besides ? plain?.place : undefined);
  return besides ? [kept, plain ?? target] : [kept];
}

function assumptions(
  { faults, exclusion, wipes, apart, fences, handsOn, cohort, besides, leases, nodeKind, taken, workers }: Scenario,
  disturbances: Disturbances,
  clients: readonly Machine[],
): Assumptions {
  return {
    exclusion,
    fenceSlack: wipes === "none" ? 0 : apart + (fences > 1 || handsOn ? FENCES_AHEAD : 0),
    disturbedUntil: () => disturbances.last,
    // Nodes in memory reserve nothing.
    reservation: nodeKind === "scripts" ? RESERVED : 0,
    longestGap: (machine, last) => {
      // Nobody is told of the end of a lease.
      const polled = taken !== undefined || last?.lapsed;
      const handoff = faults !== "none" ? RECOVERED : polled ? POLLED : HANDOFF + (last?.kept ?? 0);
      const dead = clients.filter((client) => client.dead).length;
      const left = dead === 0 ? 0 : leases[1] + dead * workers * RESERVED;
      // A cohort lingers for its own handles alone.
      const linger = last?.machine === machine && !besides ? 0 : cohort?.linger ?? 0;
      return handoff + linger + left;
    },
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
      if (owner !== RIVAL) invariants.violate(`${name} is left behind on ${node.machine.name}`);
    }
  }
  invariants.checkTimers(clients);
}
