// Deno only: it runs in a simulated world, of which the runtime is no part.
import { assert, assertEquals } from "@std/assert";
import type { Redis } from "ioredis";
import type { Claim } from "../../src/contract/store.ts";
import type { QuorumNode } from "../../src/contract/quorum_node.ts";
import { ProcessClock } from "../../tests/support/process_clock.ts";
import { RedisServer } from "../../tests/support/redis_server.ts";
import { Random } from "../../tests/simulation/kernel/random.ts";
import { scoreText } from "./keyspace.ts";
import { ScriptServer } from "./server.ts";
import { TwinClient } from "./twin_client.ts";
import { serverStore } from "../../tests/support/server_store.ts";

const START = 1_700_000_000_000_000;

/** How many runs there are, and how many calls each has. */
const RUNS = 60;
const CALLS = 60;

const KINDS: readonly Pick<Claim, "mode" | "permits">[] = [
  { mode: "exclusive" },
  { mode: "exclusive" },
  { mode: "shared" },
  { mode: "exclusive", permits: 2 },
  { mode: "exclusive", permits: 3 },
];

/** The groups of exclusive claims. */
const GROUPS = Array.from({ length: 2 }, () => crypto.randomUUID());

Deno.test("ScriptServer replies and keeps what a Redis server does, call by call", async () => {
  using clock = await ProcessClock.make();
  const time = new Time(clock);
  await using server = await RedisServer.start([], clock.env);
  const control = server.connect();
  let runs = 0;
  for (let seed = 1; seed <= RUNS; seed++) runs += await play(new Random(seed), time, server, control, `seed ${seed}`);
  assert(runs > RUNS * CALLS / 2, `only ${runs} scripts`);
});

/** The time of the server and of its twin: it stands still from one call to the next. */
class Time {
  readonly #clock: ProcessClock;
  #us = START;

  constructor(clock: ProcessClock) {
    this.#clock = clock;
    this.move(0);
  }

  /** Microseconds since 1970. */
  get now(): number {
    return this.#us;
  }

  /** Moves it, forward or back. */
  move(us: number): void {
    this.#us += us;
    this.#clock.stop(this.#us);
  }
}

async function play(
  random: Random,
  time: Time,
  server: RedisServer,
  control: Redis,
  what: string,
): Promise<number> {
  await control.flushall();
  let listening = new Map<string, number>();
  const twin = new ScriptServer(() => time.now, (channel) => listening.get(channel) ?? 0);
  const clients = Array.from({ length: 2 }, () => server.connect());
  const twins = clients.map((client) => new TwinClient(client, twin));
  const stores = twins.map((client) => serverStore(client));
  const usual = random.pick(KINDS);
  const claims: { claim: Claim; store: QuorumNode }[] = [];
  for (let call = 0; call < CALLS; call++) {
    listening = await listeners(control);
    if (claims.length === 0 || random.chance(0.3)) {
      claims.push({ claim: newClaim(random, usual), store: random.pick(stores) });
    }
    const { claim, store } = random.pick(claims.slice(-8));
    await ask(random, store, claim, time.now);
    assertEquals(twin.keys.dump(), await dump(control), `${what}, call ${call}`);
    const expiries = twin.keys.dump().map(([, , expires]) => (expires ?? 0) * 1_000 - time.now).filter((us) => us >= 0);
    const expiry = expiries.length === 0 ? 0 : random.pick(expiries);
    const us = random.pick([
      ...[0, 1, 700, 1_000, random.integer(1, 400_000), random.integer(1, 16e6), -3_000_000],
      // The last moment of a key, and the first one without it.
      ...[expiry, expiry, expiry + 1_000],
    ]);
    // What has expired is to stay away when the clock is set back: a server forgets it when it looks.
    if (us < 0) { for (const key of twin.keys.names()) await control.exists(key); }
    time.move(us);
  }
  for (const client of clients) client.disconnect();
  return twins.reduce((sum, { runs }) => sum + runs, 0);
}

function newClaim(random: Random, usual: Pick<Claim, "mode" | "permits">): Claim {
  const id = crypto.randomUUID();
  const owner = random.pick([undefined, undefined, undefined, "x", "y"]);
  const kind = random.chance(0.7) ? usual : random.pick(KINDS);
  const lease = random.pick([50, 300, 5_000, 60_000, 333.3]);
  const handle = owner === undefined ? { owner: id } : { owner, handle: `${owner}/${id}` };
  const meta = random.pick([undefined, '{"job":"a: b"}', "{}"]);
  const claim = { name: random.chance(0.9) ? "a" : "{b} c", lease, meta, ...handle, ...kind };
  if (owner !== undefined || kind.mode === "shared" || kind.permits !== undefined) return claim;
  return {
    ...claim,
    group: random.pick([undefined, ...GROUPS]),
    fences: random.pick([undefined, undefined, 3, 20_000]),
  };
}

async function ask(random: Random, store: QuorumNode, claim: Claim, us: number): Promise<void> {
  const guess = BigInt(us + random.integer(-1e6, 1e6));
  const end = guess + BigInt(random.pick([0, 0, 1, 999, 1e6]));
  const calls: (() => Promise<unknown>)[] = [
    () => store.attempt(claim, { enqueue: random.chance(0.8), steal: random.chance(0.05) }),
    () => store.attempt(claim, { enqueue: true }),
    () => store.attempt(claim, { enqueue: true }),
    () => store.vote(claim, { enqueue: random.chance(0.7), guess, end, maxClockSkew: random.pick([0, 500, 10_000]) }),
    () => store.confirm(claim, guess, end),
    () => store.retake(claim, guess),
    () => store.renew(random.chance(0.5) ? claim : { ...claim, lease: 2_000, renewal: random.integer(1, 3) }),
    () => store.release(claim),
    () => store.release(claim),
    () => random.chance(0.2) ? store.evict!(claim.name) : store.release(claim),
    () => store.query!(),
  ];
  await random.pick(calls)().catch((error) => {
    // A refusal that both servers agree on is an answer, too.
    if (error?.name === "AssertionError") throw error;
  });
}

/** Returns how many clients are subscribed to each channel. */
async function listeners(control: Redis): Promise<Map<string, number>> {
  const channels = await control.pubsub("CHANNELS") as string[];
  const counts = channels.length === 0 ? [] : await control.pubsub("NUMSUB", ...channels) as (string | number)[];
  return new Map(channels.map((channel) => [channel, Number(counts[counts.indexOf(channel) + 1])]));
}

/** Returns all keys of a server, with what they hold and when they expire. */
async function dump(control: Redis): Promise<unknown[]> {
  const keys = (await control.keys("*")).sort();
  const found = await Promise.all(keys.map(async (key) => {
    const type = await control.type(key);
    const expires = Number(await control.call("PEXPIRETIME", key));
    // It has expired since.
    if (type === "none") return undefined;
    return [key, await contents(control, key, type), expires < 0 ? undefined : expires];
  }));
  return found.filter((entry) => entry !== undefined);
}

async function contents(control: Redis, key: string, type: string): Promise<unknown> {
  if (type === "string") return await control.get(key);
  if (type === "hash") return Object.entries(await control.hgetall(key)).sort(([a], [b]) => a < b ? -1 : 1);
  const flat = (await control.zrange(key, "0", "-1", "WITHSCORES")).flat() as (string | number)[];
  return flat.flatMap((member, i) => i % 2 === 0 ? [[String(member), scoreText(Number(flat[i + 1]))]] : []);
}
