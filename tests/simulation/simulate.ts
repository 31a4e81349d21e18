import { RedlockStore } from "../../src/stores/redlock/store.ts";
import { type Assumptions, Invariants } from "./invariants.ts";
import { Machine } from "./machine.ts";
import { Network, OLDEST } from "./network.ts";
import { type MakeStore, Node, soundStore } from "./node.ts";
import { Random } from "./random.ts";
import { RemoteNode } from "./remote_node.ts";
import { describe, draw, DRIFT_FACTOR, type Scenario } from "./scenario.ts";
import { Storm } from "./storm.ts";
import { Worker } from "./worker.ts";
import { World } from "./world.ts";

/** What is to be simulated besides the seed. */
export interface SimulationOptions {
  /** Hears the story, line by line. */
  readonly tell?: ((line: string) => void) | undefined;
  /** Makes the stores of the nodes; others than sound ones show what the simulator notices. */
  readonly makeStore?: MakeStore | undefined;
}

/** How a run ended. */
export interface Outcome {
  readonly seed: number;
  /** What happened that must not; nothing when all is well. */
  readonly violations: readonly string[];
  /** How many locks were granted. */
  readonly granted: number;
  /** How many events there were. */
  readonly events: number;
  /** How long it took, after the storm, until everybody was served or told, in milliseconds of the world. */
  readonly calmedAfter: number;
  /** See {@linkcode Invariants.longestGap}. */
  readonly longestGap: number;
}

/** By when everybody must have been served or told after the storm, in milliseconds. */
const BOUND = 40_000;

/** How long after that the last leases, releases and messages are over, in milliseconds. */
const AFTERMATH = 30_000;

/** The same when nothing has failed: nothing has to wait for the end of a lease. */
const CALM_AFTERMATH = 2_000;

/** The same when leases are longer than that and nobody has died: what was left behind is still there then. */
const LONG_AFTERMATH = 9_000;

/** How long a handoff may take at the worst: a few attempts that come to nothing, in milliseconds. */
const HANDOFF = 5_000;

/** How far ahead of its own clock a node lets its counter be set, in milliseconds. */
const MAX_CLOCK_SKEW = 10_000;

/** Lives through the run that a seed determines. */
export async function simulate(
  seed: number,
  { tell, makeStore = soundStore }: SimulationOptions = {},
): Promise<Outcome> {
  const random = new Random(seed);
  const world = new World(tell);
  const scenario = draw(random);
  world.trace("", `seed ${seed}: ${describe(scenario)}`);
  const { nodeTimeout } = scenario;
  const invariants = new Invariants(world, assumptions(scenario));
  const network = new Network(world, random.fork(), scenario.quality);
  const nodes = scenario.nodes.map((drift, i) => new Node(world, new Machine(world, `n${i}`, drift), makeStore));
  const clients = scenario.clients.map((drift, i) => new Machine(world, `c${i}`, drift));
  const working = new Map<Worker, Machine>();
  for (const client of clients) {
    client.resumed = () => invariants.resumed(client);
    const remote = nodes.map((node) => new RemoteNode(world, network, client, node));
    const luck = random.fork();
    const store = new RedlockStore(
      remote,
      { nodeTimeout, maxClockSkew: MAX_CLOCK_SKEW, driftFactor: DRIFT_FACTOR, observer: undefined },
      client,
      () => luck.next(),
    );
    for (let i = 0; i < scenario.workers; i++) {
      const worker = new Worker({ world, scenario, invariants }, client, store, random.fork());
      working.set(worker, client);
      worker.run().catch((error) => invariants.violate(`a worker failed: ${error.stack}`)).finally(() => {
        working.delete(worker);
      });
    }
  }
  new Storm(world, random.fork(), scenario, { network, nodes, clients });
  const failed = () => invariants.violations.length > 0;
  await world.run(failed, scenario.length);
  world.trace("", "the storm is over");
  network.mend();
  const done = () => failed() || [...working.values()].every((machine) => machine.dead);
  if (!await world.run(done, scenario.length + BOUND)) {
    for (const [worker, machine] of working) {
      if (!machine.dead) invariants.violate(`${machine.name} is neither served nor told: ${worker.doing}`);
    }
  }
  const calmedAfter = world.now - scenario.length;
  await world.run(failed, world.now + aftermath(scenario));
  if (!failed()) await checkNothingLeft({ scenario, invariants, nodes, clients });
  const { violations, granted, longestGap } = invariants;
  return { seed, violations, granted, events: world.events, calmedAfter, longestGap };
}

function assumptions({ weather, wipes, apart, length, leases, deaths }: Scenario): Assumptions {
  return {
    exclusion: weather !== "wild",
    fenceSlack: wipes ? apart : 0,
    undisturbedFrom: weather === "calm" ? 0 : length + OLDEST,
    longestGap: (deaths && weather !== "calm" ? leases[1] : 0) + HANDOFF,
  };
}

function aftermath({ weather, deaths }: Scenario): number {
  if (weather === "calm") return CALM_AFTERMATH;
  return deaths ? AFTERMATH : LONG_AFTERMATH;
}

async function checkNothingLeft(
  { scenario, invariants, nodes, clients }: {
    scenario: Scenario;
    invariants: Invariants;
    nodes: readonly Node[];
    clients: readonly Machine[];
  },
): Promise<void> {
  for (const node of nodes) {
    for (const name of scenario.names) {
      if (!await node.free(name)) invariants.violate(`${name} is left behind on ${node.machine.name}`);
    }
  }
  for (const { name, dead, pending } of clients) {
    if (!dead && pending > 0) invariants.violate(`${pending} timers are left behind on ${name}`);
  }
}
