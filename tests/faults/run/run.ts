import { RedisServer } from "../../redis_server.ts";
import { check } from "../../history/check.ts";
import { type History, now, type Write } from "../../history/history.ts";
import { Random } from "../../simulation/random.ts";
import { Crew } from "./crew.ts";
import { pause } from "./fault.ts";
import { networkFaults } from "./network_faults.ts";
import type { DeploymentKind, Options } from "./options.ts";
import { type Outcome, outcome } from "./outcome.ts";
import { logKey } from "./register.ts";
import { leaks, type Site } from "./site.ts";
import { cluster } from "./sites/cluster.ts";
import { redlock } from "./sites/redlock.ts";
import { sentinel } from "./sites/sentinel.ts";
import { single } from "./sites/single.ts";
import { Storm } from "./storm.ts";
import type { Work } from "./work.ts";
import { workerFaults } from "./worker_faults.ts";

/** The locks, the busiest first. */
const LOCKS = ["a", "b", "c", "d"];

/** The lease of each, in milliseconds: shorter than the longer faults last. */
const LEASE = 1_500;

/** How many locks each process wants at a time. */
const AT_ONCE = 3;

/** How long keys and connections may take to go, in milliseconds: queues with dead waiters only go by themselves. */
const LEAKS_GONE = 20_000;

/** By how much the machine's clock may be set in a run, in milliseconds: the processes tell the time by it. */
const CLOCK = 10;

/** How many entries of a log are fetched at a time. */
const CHUNK = 10_000;

const SITES: Readonly<Record<DeploymentKind, (locks: readonly string[]) => Promise<Site>>> = {
  single,
  redlock,
  sentinel,
  cluster,
};

/** What a run is at. */
export interface Progress {
  readonly crew: Crew;
  readonly storm: Storm;
  /** Milliseconds since the faults began. */
  readonly elapsed: number;
}

/**
 * Lets faults happen to a deployment for a while, and checks what its users have written down. All that is started is
 * stopped with the stack, which may happen at any time.
 */
export async function run(
  options: Omit<Options, "help">,
  stack: AsyncDisposableStack,
  tell: (progress: Progress) => void,
): Promise<Outcome> {
  const random = new Random(options.seed);
  const clock = Date.now() - now();
  const site = await started(() => SITES[options.deployment](LOCKS), stack);
  const server = await started(() => RedisServer.start(), stack);
  const work = (seed: number, place: number): Work => ({
    target: site.target,
    register: server.port,
    fences: options.fences,
    seed,
    locks: LOCKS,
    lease: LEASE,
    atOnce: AT_ONCE,
    patient: place % 2 === 0,
  });
  const crew = stack.use(new Crew(work, random.fork()));
  const all = [...networkFaults(site.proxies), ...site.faults, ...workerFaults(crew, LEASE)];
  const faults = options.only.length === 0 ? all : all.filter(({ kind }) => options.only.includes(kind));
  const unknown = options.only.find((only) => !all.some(({ kind }) => kind === only));
  if (unknown !== undefined) {
    const known = [...new Set(all.map(({ kind }) => kind))].join(", ");
    throw new Error(`--only must name faults of this deployment: got "${unknown}", there are ${known}`);
  }
  await Promise.all(Array.from({ length: options.workers }, (_, place) => crew.start(place)));

  const storm = new Storm();
  const over = new AbortController();
  stack.defer(() => over.abort());
  const began = performance.now();
  const ticking = setInterval(() => tell({ crew, storm, elapsed: performance.now() - began }), 200);
  stack.defer(() => clearInterval(ticking));
  const raging = storm.rage(faults, random.fork(), over.signal);
  await pause(options.minutes * 60_000, over.signal);
  over.abort();
  await raging;
  await crew.finish();
  clearInterval(ticking);

  const set = Math.abs(Date.now() - now() - clock);
  if (set > CLOCK) throw new Error(`the machine's clock was set by ${set.toFixed(0)} ms: this cannot be checked`);
  const { grants, releases } = crew.ledger;
  const history: History = {
    grants: [...grants.values()],
    releases,
    writes: await writes(server),
    breaches: storm.happenings.filter(({ fault }) => fault.breach),
  };
  const left = await remaining(site);
  return outcome({
    options,
    ledger: crew.ledger,
    storm,
    history,
    verdict: check(history),
    left,
    skipped: site.skipped,
  });
}

/** Starts something that is stopped with the stack, also when that is over before it has started. */
async function started<T extends AsyncDisposable>(start: () => Promise<T>, stack: AsyncDisposableStack): Promise<T> {
  if (stack.disposed) throw new Error("the run is over");
  const starting = start();
  stack.defer(() => starting.then((made) => made[Symbol.asyncDispose](), () => {}));
  return await starting;
}

async function writes(server: RedisServer): Promise<Write[]> {
  const client = server.connect();
  const found: Write[] = [];
  for (const lock of LOCKS) {
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

/** What is still there when it had time to go. */
async function remaining(site: Site): Promise<Awaited<ReturnType<typeof leaks>>> {
  for (const deadline = performance.now() + LEAKS_GONE;;) {
    const left = await leaks(site);
    if (left.keys.length + left.connections.length === 0 || performance.now() > deadline) return left;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
