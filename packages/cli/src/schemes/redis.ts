import { UsageError } from "../command.ts";
import { redisPatient } from "../doctor/redis.ts";
import type { OpenedStore } from "./scheme.ts";
import { loadRedisModule, type OpenClient, openClient } from "./redis_client.ts";
import { wrongServer } from "./listener.ts";
import { FORMS, PROTOCOLS, readRedisUrl, type RedisPlace } from "./redis_url.ts";
import { type ConnectedStore, type Places, servers } from "./servers.ts";

/** Opens Redis and Valkey: one server, Sentinel, a Cluster, or several independent servers (Redlock). */
export const redis = servers({
  protocols: PROTOCOLS,
  example: FORMS.single.example,
  quorum: "Redis servers",
  read: readRedisUrl,
  check: checkQuorum,
  connect,
});

/** The largest number of servers of a quorum. */
const MAX_NODES = 9;

async function connect(places: Places<RedisPlace>): Promise<ConnectedStore> {
  const module = await loadRedisModule();
  const clients = places.map((place) => openClient(module, place));
  const close = async () => void await Promise.all(clients.map((client) => client.close()));
  try {
    const store = await storeOf(clients, places);
    const { prefix } = places[0];
    return {
      store,
      prefix,
      ready: async () => void await Promise.all(clients.map((client) => client.ready())),
      diagnose: async () => (await Promise.all(places.map(wrongServer))).find((words) => words !== undefined),
      partial: async () => await nodeOfCluster(clients, places) ?? await replica(clients, places),
      patient: () =>
        redisPatient(clients.map(({ client }) => client), {
          labels: places.map(({ label }) => label),
          store,
          prefix,
          diagnose: (place) => wrongServer(places[place]!),
          close,
        }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function storeOf(clients: readonly OpenClient[], places: readonly RedisPlace[]): Promise<OpenedStore["store"]> {
  const { redis } = await import("@holdfast/lock/redis");
  const stores = clients.map(({ client }, i) => {
    const { prefix, replicas } = places[i]!;
    return redis(client, { prefix, replicas: replicas === undefined ? undefined : { min: replicas } });
  });
  if (stores.length === 1) return stores[0]!;
  const { redlock } = await import("@holdfast/lock/redlock");
  return redlock(stores);
}

/** Resolves to the server that is a node of a Cluster but used as a single server, if a server says so. */
async function nodeOfCluster(
  clients: readonly OpenClient[],
  places: readonly RedisPlace[],
): Promise<string | undefined> {
  for (const [i, { client }] of clients.entries()) {
    // A user may lack the right to INFO.
    const info = client.isCluster ? "" : String(await client.call("INFO", "cluster").catch(() => ""));
    if (!/^cluster_enabled:1\b/m.test(info)) continue;
    return `${places[i]?.label} is one node of a Cluster, and lists only its own locks: use redis+cluster://`;
  }
  return undefined;
}

/** Resolves to the server that is a replica, if a server says so. */
async function replica(clients: readonly OpenClient[], places: readonly RedisPlace[]): Promise<string | undefined> {
  for (const [i, { client }] of clients.entries()) {
    // A user may lack the right to ROLE.
    const role = client.isCluster ? undefined : await client.call("ROLE").catch(() => undefined);
    if (!Array.isArray(role) || role[0] !== "slave") continue;
    const master = `${role[1]}:${role[2]}`;
    return `${places[i]?.label} is a replica of ${master}, and lists what it has received: use the URL of the master`;
  }
  return undefined;
}

/** Throws unless the URLs can be a quorum. */
function checkQuorum(places: readonly RedisPlace[]): void {
  if (places.length > MAX_NODES) {
    throw new UsageError(`a quorum has at most ${MAX_NODES} servers: got ${places.length}`);
  }
  const labels = places.map(({ label }) => label);
  const twice = labels.find((label, i) => labels.indexOf(label) < i);
  if (twice !== undefined) throw new UsageError(`a quorum must not have a server twice: got ${twice}`);
  if (new Set(places.map(({ prefix }) => prefix)).size > 1) {
    throw new UsageError("the servers of a quorum must have the same prefix");
  }
}
