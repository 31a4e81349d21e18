import { acquire } from "@holdfast/lock";
import type { Redis } from "ioredis";
import { RedisServer } from "../redis_server.ts";
import type { Figure } from "./figure.ts";
import { interleave } from "./rounds.ts";
import type { Bench } from "./row.ts";
import { median, ratios, summarize } from "./statistics.ts";

/** How many pairs make a round, and for how many seconds each figure is measured. */
const PAIRS = 200;
const SECONDS = 10;

/** How many acquires are measured before and after a master freezes, and again, so that a change of pace shows. */
const ACQUIRES = 250;
const TURNS = 4;

/** Locks on a majority of masters: against bare pairs on all of them, and with one that is frozen. */
export async function redlock(bench: Bench): Promise<Figure[]> {
  return [await pairs(3, bench), await pairs(5, bench), await frozen(5, bench)];
}

async function pairs(count: number, bench: Bench): Promise<Figure> {
  const servers = await masters(count, bench);
  const ours = servers.map((server) => server.connect());
  const bare = await BareQuorum.on(servers.map((server) => server.connect()));
  const rounds = await interleave({
    // The keys are equally long: "lock:" is the default prefix.
    ours: () => repeat(() => section(ours, "ours")),
    reference: () => repeat(() => bare.run("lock:bare")),
    seconds: SECONDS * bench.scale,
    progress: (text) => bench.progress(`${count} masters, ${text}`),
  });
  const perSecond = (times: number[]) => times.map((ms) => PAIRS / ms * 1_000);
  const comparison = ratios(rounds.reference, rounds.ours);
  return {
    what: `Redlock, ${count} masters, acquire + release`,
    ours: { value: median(perSecond(rounds.ours)), unit: "/s" },
    reference: { name: `${count} bare pairs`, value: median(perSecond(rounds.reference)), unit: "/s" },
    ratio: median(comparison),
    target: { bound: "at least", value: 0.88 },
    details: {
      pairsPerRound: PAIRS,
      ratio: summarize(comparison),
      oursPerSecond: summarize(perSecond(rounds.ours)),
      referencePerSecond: summarize(perSecond(rounds.reference)),
    },
  };
}

async function frozen(count: number, bench: Bench): Promise<Figure> {
  const servers = await masters(count, bench);
  const clients = servers.map((server) => server.connect());
  const [well, hung]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < TURNS; turn++) {
    const victim = servers[turn % count]!;
    for (const [times, freezes] of [[well, false], [hung, true]] as const) {
      if (freezes) victim.freeze();
      const acquires = Math.max(20, Math.ceil(ACQUIRES * bench.scale));
      for (let i = 0; i < acquires; i++) {
        const started = performance.now();
        await using _lock = await acquire(clients, "frozen");
        times.push(performance.now() - started);
        bench.progress(`${count} masters, one of them frozen: ${well.length + hung.length} acquires`);
      }
    }
    victim.thaw();
    // It has a lot to answer: the next turn begins when it has.
    await clients[turn % count]!.ping();
  }
  // The compiler of the runtime takes a while to be done.
  const warm = (times: number[]) => times.slice(Math.ceil(times.length / TURNS));
  return {
    what: `Redlock, ${count} masters, one of them frozen: acquire, p50`,
    ours: { value: median(warm(hung)), unit: "ms" },
    reference: { name: "all well", value: median(warm(well)), unit: "ms" },
    ratio: median(warm(hung)) / median(warm(well)),
    target: { bound: "at most", value: 1.2 },
    details: { frozen: summarize(warm(hung)), well: summarize(warm(well)) },
  };
}

/** Starts so many servers, which are stopped at the end of the run. */
async function masters(count: number, { stack }: Bench): Promise<RedisServer[]> {
  const starting = Array.from({ length: count }, () => RedisServer.start());
  // Before they are up: the run may be interrupted at any moment.
  for (const each of starting) stack.defer(() => each.then((server) => server[Symbol.asyncDispose](), () => {}));
  return await Promise.all(starting);
}

async function repeat(run: () => Promise<void>): Promise<void> {
  for (let pair = 0; pair < PAIRS; pair++) await run();
}

/** As users write it. */
async function section(clients: Redis[], name: string): Promise<void> {
  await using _lock = await acquire(clients, name);
}

/** Deletes the key if it still holds this owner. */
const COMPARE_AND_DELETE =
  `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

/** The lease of Holdfast by default, so that both set the same expiry. */
const LEASE = 30_000;

/**
 * The least that a lock on several masters can be: the bare pair on all of them at the same time, waiting for all. No
 * quorum, no time-outs, no fence.
 */
class BareQuorum {
  readonly #clients: readonly Redis[];
  readonly #sha: string;

  private constructor(clients: readonly Redis[], sha: string) {
    this.#clients = clients;
    this.#sha = sha;
  }

  /** Loads the script. */
  static async on(clients: readonly Redis[]): Promise<BareQuorum> {
    const shas = await Promise.all(clients.map((client) => client.script("LOAD", COMPARE_AND_DELETE)));
    return new BareQuorum(clients, String(shas[0]));
  }

  /** Takes the lock and gives it back. */
  async run(key: string): Promise<void> {
    const owner = crypto.randomUUID();
    const taken = await Promise.all(this.#clients.map((client) => client.set(key, owner, "PX", LEASE, "NX")));
    if (taken.some((reply) => reply !== "OK")) throw new Error(`${key} is taken`);
    const freed = await Promise.all(this.#clients.map((client) => client.evalsha(this.#sha, 1, key, owner)));
    if (freed.some((reply) => reply !== 1)) throw new Error(`${key} was lost`);
  }
}
