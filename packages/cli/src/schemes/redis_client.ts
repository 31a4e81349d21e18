import { SystemClock } from "../time/clock.ts";
import type { ExaminedClient } from "../doctor/redis.ts";
import { loadClientLibrary } from "./client_library.ts";
import type { RedisPlace } from "./redis_url.ts";

/** A client of the command line, which closes the client itself. */
interface Client extends ExaminedClient {
  disconnect(): void;
}

/** The used part of the package `ioredis`. */
export interface RedisModule {
  readonly Redis: new (options: object) => Client;
  readonly Cluster: new (nodes: readonly object[], options: object) => Client;
}

/** A client that is closed at the end of the command. */
export interface OpenClient {
  readonly client: ExaminedClient;
  /** Resolves when the client knows all servers: until then, a Cluster client lists only the given ones. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/** The name of the command line's connections in CLIENT LIST. */
const NAME = "holdfast-cli";

/** The longest pause before a client tries to connect again, in milliseconds. */
const MAX_PAUSE_MS = 1_000;

/** How long a connection may take to close, in milliseconds. */
const CLOSE_MS = 250;

/** The time-out that docs/stores/redis.md recommends: without it a client stays with a server that hangs. */
const SOCKET_TIMEOUT_MS = 2_000;
const SENTINEL_TIMEOUT_MS = 1_000;

/** Loads the package `ioredis`. */
export async function loadRedisModule(): Promise<RedisModule> {
  return await loadClientLibrary<RedisModule>({ of: "Redis", name: "ioredis", version: "^6" });
}

/** Makes a client, which connects in the background. */
export function openClient({ Redis, Cluster }: RedisModule, place: RedisPlace): OpenClient {
  let closing = false;
  const pause = (tries: number) => closing ? null : Math.min(50 * tries, MAX_PAUSE_MS);
  const { deployment, addresses, username, password, db, tls } = place;
  const login = { connectionName: NAME, username, password, ...tls ? { tls: {} } : {} };
  const client = deployment === "cluster"
    ? new Cluster(addresses, {
      clusterRetryStrategy: pause,
      redisOptions: { ...login, socketTimeout: SOCKET_TIMEOUT_MS },
      // The certificates are for names, not for addresses.
      ...tls ? { dnsLookup: (host: string, done: (error: null, address: string) => void) => done(null, host) } : {},
    })
    : new Redis({
      ...login,
      db,
      retryStrategy: pause,
      ...deployment === "single" ? addresses[0] : sentinels(place, pause),
    });
  // The store reads them as well; a client without a listener of its user prints them.
  client.on("error", () => {});
  return {
    client,
    ready: () => ready(client),
    close: () => {
      closing = true;
      return close(client);
    },
  };
}

/** Returns the options for Sentinel. */
function sentinels({ addresses, master, sentinelUsername, sentinelPassword, tls }: RedisPlace, pause: unknown): object {
  return {
    sentinels: addresses,
    name: master,
    sentinelUsername,
    sentinelPassword,
    sentinelRetryStrategy: pause,
    sentinelCommandTimeout: SENTINEL_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    ...tls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {},
  };
}

async function ready(client: Client): Promise<void> {
  if (!client.isCluster || client.status === "ready") return;
  await new Promise<void>((resolve) => void client.on("ready", resolve));
}

/** Closes a client, and waits a moment for the end. */
async function close(client: Client): Promise<void> {
  // Between two connections it emits no end.
  const silent = ["end", "wait", "reconnecting"].includes(client.status ?? "end");
  const timer = new AbortController();
  client.on("end", () => timer.abort());
  client.disconnect();
  if (!silent) await new SystemClock().sleep(CLOSE_MS, timer.signal);
}
