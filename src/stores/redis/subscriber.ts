import type { RedisClient, RedisNode, RedisSubscriber } from "./client.ts";
import { POLL } from "./scripts.ts";

/** How long a server may take to answer on the connection for wake-ups, in milliseconds; then it is made anew. */
const SILENCE = POLL;

/**
 * The connections for wake-ups that a client can have, the best one first: of one server, or of the master that Sentinel
 * names, the only one; of a Cluster, where every node passes on all messages, one to each node. A connection to a node
 * is not made again: another node may be the better one by then.
 *
 * @param retry when to connect again, in milliseconds; `null` not to
 */
export function subscribers(client: RedisClient, retry: (times: number) => number | null): (() => RedisSubscriber)[] {
  if (!client.isCluster) return [() => duplicate(client, retry)];
  return nodesOf(client).map((node) => () => duplicate(node, () => null));
}

/** Whom a Cluster client is connected to comes first, in an order of chance, so that no node has to serve all clients. */
function nodesOf(client: RedisClient): RedisNode[] {
  const order = new Map(client.nodes?.().map((node) => [node, Math.random() - Number(node.status === "ready")]));
  return [...order.keys()].sort((a, b) => order.get(a)! - order.get(b)!);
}

function duplicate(client: RedisClient | RedisNode, retry: (times: number) => number | null): RedisSubscriber {
  const overrides = {
    autoResubscribe: false,
    commandTimeout: SILENCE,
    enableAutoPipelining: false,
    enableOfflineQueue: true,
    // It follows the client, which finds the new master by itself.
    failoverDetector: false,
    keyPrefix: "",
    lazyConnect: false,
    maxRetriesPerRequest: null,
    retryStrategy: retry,
    sentinelCommandTimeout: SILENCE,
    sentinelRetryStrategy: retry,
  };
  // The contract leaves the arguments open.
  return (client.duplicate.bind(client) as (overrides: unknown) => RedisSubscriber)(overrides);
}
