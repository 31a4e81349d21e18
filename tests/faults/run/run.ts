import { RedisServer } from "../../support/redis_server.ts";
import { check } from "../../verification/history/check.ts";
import { compare, type History, now, type Write } from "../../verification/history/history.ts";
import type { HandoffName } from "../../simulation/handoff/scenario.ts";
import { Random } from "../../simulation/kernel/random.ts";
import { clientFaults } from "./client_faults.ts";
import { Crew } from "./crew.ts";
import { type Fault, pause } from "./fault.ts";
import { networkFaults } from "./network_faults.ts";
import { type ClientName, CLIENTS, type DeploymentKind, type Options } from "./options.ts";
import { handsOn, type Outcome, outcome } from "./outcome.ts";
import { logKey } from "./register.ts";
import type { Deployment, Left } from "./deployment.ts";
import { cluster } from "./deployments/cluster.ts";
import { etcd } from "./deployments/etcd.ts";
import { memcached } from "./deployments/memcached.ts";
import { mysql } from "./deployments/mysql.ts";
import { pgbouncer } from "./deployments/pgbouncer.ts";
import { postgres } from "./deployments/postgres.ts";
import { redlock } from "./deployments/redlock.ts";
import { sentinel } from "./deployments/sentinel.ts";
import { single } from "./deployments/single.ts";
import { sqlite } from "./deployments/sqlite.ts";
import { zookeeper } from "./deployments/zookeeper.ts";
import { SlowServer, Stalls } from "./stalls.ts";
import { FaultSchedule } from "./fault_schedule.ts";
import { Switches } from "./switches.ts";
import { Ways } from "./ways.ts";
import { storesOf, THRONGED, type Work } from "./work.ts";
import { workerFaults } from "./worker_faults.ts";

/** The locks, the busiest first. */
const LOCKS = ["a", "b", "c", "d", "e", "f"];

/** The lease of each, in milliseconds: shorter than the longer faults last. */
const LEASE = 1_500;

/** The time-outs of the clients' commands, in milliseconds: without one they wait for as long as it takes. */
const TIMEOUTS = [undefined, 300, undefined, 1_000];

/**
 * How long all faults happen, then only those of single processes, then none, in milliseconds. One that hits everybody
 * hides what a single process does wrong; and what no fault may be the reason of is seen while there is none: for so
 * long that a waiter that was forgotten is noticed.
 */
const [ALL_MS, SINGLE_MS, NONE_MS] = [8_000, 7_000, 12_500];

/** How long entries and connections may take to go, in milliseconds: queues with dead waiters only go by themselves. */
const LEAKS_GONE = 20_000;

/** By how much the machine's clock may be set in a run, in milliseconds: the processes read it. */
const CLOCK = 10;

/** How long nothing happens before the first fault, in milliseconds: then nothing explains what is left behind. */
const OPENING_MS = 3_000;

/** How often servers that elect a leader are asked whether they have one, in milliseconds. */
const PROBE_MS = 100;

/** How many entries of a log are fetched at a time. */
const CHUNK = 10_000;

/** Starts a deployment for these locks, which are reached with this client where it is Redis. */
type Start = (locks: readonly string[], client: ClientName) => Promise<Deployment>;

const DEPLOYMENT_OF: Readonly<Record<DeploymentKind, Start>> = {
  single: (_, client) => single(client),
  redlock,
  sentinel,
  cluster,
  sqlite,
  memcached,
  postgres,
  pgbouncer,
  mysql,
  etcd,
  zookeeper,
};

/** What a run is at. */
export interface Progress {
  /** What it waits for. */
  readonly at: string;
  readonly crew: Crew;
  readonly schedule: FaultSchedule;
  /** Milliseconds since the faults began. */
  readonly elapsed: number;
}

/** What must have happened before a run may end. */
export interface Least {
  readonly grants: number;
  readonly faults: number;
  /** Grants that are handed on inside a process, where processes hand locks on. */
  readonly handedOn: number;
}

/**
 * Lets faults happen to a deployment for a while, and for longer until the least has happened, and checks what its
 * users have written down. All that is started is stopped with the stack, which may happen at any time.
 */
export async function run(
  options: Options,
  stack: AsyncDisposableStack,
  report: (progress: Progress) => void,
  least: Least = { grants: 0, faults: 0, handedOn: 0 },
): Promise<Outcome> {
  const { client = CLIENTS[0] } = options;
  const random = new Random(options.seed);
  const deployment = await started(
    () => DEPLOYMENT_OF[options.deployment](LOCKS, client),
    stack,
  );
  const server = await started(() => RedisServer.start(), stack);
  const ways = await Promise.all(
    Array.from({ length: options.workers }, () => started(() => Ways.open(deployment), stack)),
  );
  const handoff = (place: number): HandoffName => {
    // The last process has no cohort: its single fences come between the blocks of the others.
    const last = place > 0 && place === options.workers - 1;
    return last && options.handoff !== "none" ? "default" : options.handoff;
  };
  const work = (seed: number, place: number): Work => ({
    target: ways[place]!.target,
    direct: deployment.target(deployment.ports),
    client,
    register: server.port,
    fences: !options.noFences,
    seed,
    locks: LOCKS,
    ...own(place),
    stores: storesOf(THRONGED, options),
    lease: LEASE,
    stall: deployment.traits.stall,
    commandTimeout: TIMEOUTS[place % TIMEOUTS.length] ?? null,
    handoff: handoff(place),
  });
  // From before the first process on: the ways lie in this one.
  const stalls = stack.use(new Stalls(deployment.traits.stall));
  const pinged = server.connect();
  const slow = stack.use(new SlowServer(deployment.traits.stall, () => pinged.ping()));
  const probe = deployment.probe ?? (() => Promise.resolve());
  const leaderless = stack.use(new SlowServer(deployment.traits.stall, probe, PROBE_MS));
  const crew = stack.use(new Crew(work, random.fork(), deployment.clocks));
  const all = [
    ...networkFaults(deployment.proxies, deployment.request),
    ...clientFaults(ways, LEASE),
    ...deployment.faults,
    ...deployment.userFaults?.({ crew, ways, lease: LEASE, kept: own(0).kept }) ?? [],
    ...workerFaults(crew, LEASE),
  ];
  const faults = chosen(all, options.only);
  await Promise.all(Array.from({ length: options.workers }, (_, place) => crew.start(place)));

  const schedule = new FaultSchedule();
  const over = new AbortController();
  stack.defer(() => over.abort());
  const began = now();
  let at = "faults happen";
  const ticking = setInterval(() => report({ at, crew, schedule, elapsed: now() - began }), 200);
  stack.defer(() => clearInterval(ticking));
  const breaching = () => schedule.happenings.some(({ fault, over }) => fault.breach && !over);
  const masters = () => deployment.masters?.() ?? Promise.resolve([]);
  const switches = stack.use(new Switches(masters, breaching));
  const happening = alternate(schedule, faults, random.fork(), over.signal);
  await pause(options.minutes * 60_000, over.signal);
  const handedOn = handsOn(options, deployment.traits) ? least.handedOn : 0;
  const enough = () =>
    crew.ledger.grants.size >= least.grants && schedule.happenings.length >= least.faults &&
    crew.ledger.handedOn >= handedOn;
  at = "the least must happen";
  while (!enough() && !over.signal.aborted) await pause(PROBE_MS, over.signal);
  over.abort();
  at = "the last faults end";
  await happening;
  at = "the processes tell their time";
  await crew.agree();
  at = "the processes end";
  await crew.finish();
  at = "what is left goes";

  const set = Math.abs(compare(Date.now, now));
  if (set > CLOCK) throw new Error(`the machine's clock was set by ${set.toFixed(0)} ms: this cannot be checked`);
  const locks = [...LOCKS, THRONGED, ...new Set(ways.flatMap((_, place) => Object.values(own(place))))];
  const history = historyOf(crew, schedule, switches, await writes(server, locks));
  const left = await remaining(deployment).catch((cause) => {
    throw new Error(`what is left cannot be seen: ${cause}. ${schedule.failures.join("; ")}`, { cause });
  });
  clearInterval(ticking);
  return outcome({
    options,
    ledger: crew.ledger,
    schedule,
    history,
    verdict: check(history),
    stalls: [...stalls.seen, ...slow.seen, ...leaderless.seen],
    began,
    lease: LEASE,
    traits: deployment.traits,
    left,
  });
}

/** Returns what all processes have written down. */
function historyOf(crew: Crew, schedule: FaultSchedule, switches: Switches, writes: Write[]): History {
  const { grants, releases } = crew.ledger;
  const faults = schedule.happenings.filter(({ fault }) => fault.breach);
  return { grants: [...grants.values()], releases, writes, breaches: [...faults, ...switches.seen] };
}

/** Returns the faults of these kinds; all of them, if none is named. Throws when there is no such kind. */
function chosen(all: readonly Fault[], only: readonly string[]): readonly Fault[] {
  const unknown = only.find((each) => !all.some(({ kind }) => kind === each));
  if (unknown !== undefined) {
    const known = [...new Set(all.map(({ kind }) => kind))].join(", ");
    throw new Error(`--only must name faults of this deployment: got "${unknown}", there are ${known}`);
  }
  return only.length === 0 ? all : all.filter(({ kind }) => only.includes(kind));
}

/** Injects none, and then all faults, those of single processes and none, in turns. */
async function alternate(
  schedule: FaultSchedule,
  faults: readonly Fault[],
  random: Random,
  over: AbortSignal,
): Promise<void> {
  const single = faults.filter(({ where }) => where !== "servers" && where !== "network");
  const happen = async (faults: readonly Fault[], ms: number) => {
    const enough = new AbortController();
    const happening = schedule.run(faults, random.fork(), AbortSignal.any([over, enough.signal]));
    await pause(ms, over);
    enough.abort();
    await happening;
  };
  await pause(OPENING_MS, over);
  while (!over.aborted) {
    await happen(faults, ALL_MS);
    if (single.length > 0) await happen(single, SINGLE_MS);
    await pause(NONE_MS, over);
  }
}

/** Starts something that is stopped with the stack, also when that is over before it has started. */
async function started<T extends AsyncDisposable>(start: () => Promise<T>, stack: AsyncDisposableStack): Promise<T> {
  if (stack.disposed) throw new Error("the run is over");
  const starting = start();
  stack.defer(() => starting.then((made) => made[Symbol.asyncDispose](), () => {}));
  return await starting;
}

/**
 * Returns the locks that a process shares with only one other: one is mostly free, one is mostly held, one is crowded,
 * and one is wanted by visitors.
 */
function own(place: number): Pick<Work, "own" | "kept" | "crowded" | "brief"> {
  const pair = place >> 1;
  return { own: `own ${pair}`, kept: `kept ${pair}`, crowded: `crowded ${pair}`, brief: `brief ${pair}` };
}

async function writes(server: RedisServer, locks: readonly string[]): Promise<Write[]> {
  const client = server.connect();
  const found: Write[] = [];
  for (const lock of locks) {
    for (let from = 0;; from += CHUNK) {
      const entries = await client.lrange(logKey(lock), from, from + CHUNK - 1);
      for (const entry of entries) {
        const [fence = "", value, accepted, at] = entry.split(" ");
        found.push({ lock, fence: BigInt(fence), value: Number(value), accepted: accepted === "1", at: Number(at) });
      }
      if (entries.length < CHUNK) break;
    }
  }
  return found;
}

/** Returns what is still there when it had time to go. */
async function remaining(deployment: Deployment): Promise<Left> {
  for (const deadline = performance.now() + LEAKS_GONE;;) {
    const left = await deployment.left();
    if (left.entries.length + left.connections.length === 0 || performance.now() > deadline) return left;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
