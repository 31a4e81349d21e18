import type { Adapter } from "./session.ts";

/** A library, and what must be known of it before it is loaded. */
export interface Peer {
  /** The name that `--peer` takes, and that of its adapter. */
  readonly id: string;
  /** Its name on npm; none for the bare pair and for this library. */
  readonly npm?: string;
  /** Its name in the import map, where that is another one. */
  readonly alias?: string;
  readonly load: () => Promise<Adapter>;
  /** What it is asked to do besides its defaults, where that makes it a contender of its own. */
  readonly settings?: string;
  /** What its best settings are, where there is something to be set; with one server, and with several. */
  readonly tuned?: string;
  readonly tunedQuorum?: string;
  /** Whether they matter also where nobody waits. */
  readonly tunedWhenFree?: boolean;
  /** Whether it can take a lock on several servers. */
  readonly quorum?: boolean;
  /** How often it renews, in milliseconds, for those that do. */
  readonly interval?: (lease: number) => number;
  /** Whether it has a server of its own instead of Redis. */
  readonly broker?: boolean;
  /** Whether its locks are in PostgreSQL. */
  readonly database?: boolean;
  /** Whether it is the least that a lock there can be: it takes part in any case, where nobody waits. */
  readonly bare?: boolean;
  /** Its name, if it is in no package. */
  readonly title?: string;
}

const THIRD = (lease: number) => lease / 3;

const RETRIES = "retries every 10 ms ± 5, for ever";
const QUORUM = "commandTimeout 250 ms";

/** The bare pair, this library, and all others. */
export const PEERS: readonly Peer[] = [
  { id: "bare", title: "bare pair", load: () => import("./adapters/bare.ts"), quorum: true, bare: true },
  { id: "holdfast", load: () => import("./adapters/holdfast.ts"), quorum: true, interval: THIRD },
  {
    id: "holdfast-keep",
    load: () => import("./adapters/holdfast_keep.ts"),
    settings: "cohort, keep 10 ms",
    quorum: true,
  },
  {
    id: "holdfast-linger",
    load: () => import("./adapters/holdfast_linger.ts"),
    settings: "cohort, keep 10 ms, linger 10 ms",
    quorum: true,
  },
  {
    id: "holdfast-long-turns",
    load: () => import("./adapters/holdfast_long_turns.ts"),
    settings: "cohort, keep 50 ms, linger 50 ms",
  },
  {
    id: "holdfast-redlock",
    load: () => import("./adapters/holdfast_redlock.ts"),
    settings: "compat/redlock, waits for ever",
    quorum: true,
    interval: THIRD,
  },
  {
    id: "redlock4",
    npm: "redlock",
    alias: "redlock4",
    load: () => import("./adapters/redlock4.ts"),
    tuned: RETRIES,
    tunedQuorum: QUORUM,
    quorum: true,
  },
  {
    id: "redlock5",
    npm: "redlock",
    alias: "redlock5",
    load: () => import("./adapters/redlock5.ts"),
    tuned: RETRIES,
    tunedQuorum: QUORUM,
    quorum: true,
    interval: THIRD,
  },
  {
    id: "sesamecare",
    npm: "@sesamecare-oss/redlock",
    load: () => import("./adapters/sesamecare.ts"),
    tuned: RETRIES,
    tunedQuorum: QUORUM,
    quorum: true,
    interval: THIRD,
  },
  {
    id: "redis-semaphore",
    npm: "redis-semaphore",
    load: () => import("./adapters/redis_semaphore.ts"),
    tuned: "no time-out of the wait; retries every 10 ms, as by default",
    tunedQuorum: QUORUM,
    quorum: true,
    interval: THIRD,
  },
  {
    id: "redlock-universal",
    npm: "redlock-universal",
    load: () => import("./adapters/redlock_universal.ts"),
    tuned: "lean, no circuit breaker, retries every 10 ms, for ever",
    tunedQuorum: QUORUM,
    tunedWhenFree: true,
    quorum: true,
    interval: (lease) => lease * 0.8,
  },
  { id: "verrou", npm: "@verrou/core", load: () => import("./adapters/verrou.ts"), tuned: "retries every 10 ms" },
  { id: "simple-redis-mutex", npm: "simple-redis-mutex", load: () => import("./adapters/simple_redis_mutex.ts") },
  { id: "node-redisson", npm: "node-redisson", load: () => import("./adapters/node_redisson.ts"), interval: THIRD },
  {
    id: "ioredis-lock",
    npm: "@microfleet/ioredis-lock",
    load: () => import("./adapters/ioredis_lock.ts"),
    tuned: "retries every 10 ms, for ever",
  },
  {
    id: "live-mutex",
    npm: "live-mutex",
    load: () => import("./adapters/live_mutex.ts"),
    tuned: "no time-out of the wait",
    broker: true,
  },
  {
    id: "postgres-bare",
    title: "bare pair in PostgreSQL",
    load: () => import("./adapters/postgres_bare.ts"),
    database: true,
    bare: true,
  },
  { id: "postgres-holdfast", load: () => import("./adapters/postgres_holdfast.ts"), database: true },
  { id: "advisory-lock", npm: "advisory-lock", load: () => import("./adapters/advisory_lock.ts"), database: true },
  {
    id: "verrou-knex",
    npm: "@verrou/core",
    load: () => import("./adapters/verrou_knex.ts"),
    tuned: "retries every 10 ms",
    database: true,
  },
  {
    id: "shedlock",
    title: "ShedLock's scheme as plain SQL",
    load: () => import("./adapters/shedlock.ts"),
    settings: "retries every 10 ms, as it has no wait",
    database: true,
  },
];

/** The library of that id. */
export function peer(id: string): Peer {
  const found = PEERS.find((peer) => peer.id === id);
  if (found === undefined) {
    throw new Error(`Unknown peer "${id}": the peers are ${PEERS.map(({ id }) => id).join(", ")}`);
  }
  return found;
}

/** The name of each library with its version, as the lock file has it. */
export async function titles(): Promise<Map<string, string>> {
  const read = async (path: string) => JSON.parse(await Deno.readTextFile(new URL(path, import.meta.url)));
  const { imports } = await read("import_map.json");
  const { specifiers } = await read("deno.lock");
  const { version } = await read("../../deno.json");
  return new Map(PEERS.map(({ id, npm, alias, title = `holdfast ${version}` }) => {
    if (npm === undefined) return [id, title];
    // Behind the version stand the packages that it was resolved with.
    const resolved: string = specifiers[imports[alias ?? npm]];
    return [id, `${npm} ${resolved.split("_")[0]}`];
  }));
}
