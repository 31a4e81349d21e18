import { ANSWER_MS } from "../../constants.ts";
import type { IoredisClient, RedisNode, RedisSubscriber } from "../client.ts";
import type { MessageListener, SecondConnection } from "../port.ts";
import { isReply } from "./writes.ts";

/**
 * Returns the second connections that a client can have, the best one first. One server, or the master that Sentinel
 * names, has one. In a Cluster every node passes on all messages, so each node has one. No such connection reconnects
 * by itself: another may be better by then.
 */
export function secondConnections(client: IoredisClient): (() => RedisSubscriber)[] {
  return (client.isCluster ? nodesOf(client) : [client]).map((each) => () => duplicate(each));
}

/** Returns the nodes of a Cluster: first the connected ones in random order, so that no node serves all clients. */
function nodesOf(client: IoredisClient): RedisNode[] {
  const order = new Map(client.nodes?.().map((node) => [node, Math.random() - Number(node.status === "ready")]));
  return [...order.keys()].sort((a, b) => order.get(a)! - order.get(b)!);
}

function duplicate(client: IoredisClient | RedisNode): RedisSubscriber {
  const retry = () => null;
  const overrides = {
    autoResubscribe: false,
    commandTimeout: ANSWER_MS,
    enableAutoPipelining: false,
    enableOfflineQueue: true,
    // It follows the client, which finds the new master by itself.
    failoverDetector: false,
    keyPrefix: "",
    lazyConnect: false,
    maxRetriesPerRequest: null,
    retryStrategy: retry,
    sentinelCommandTimeout: ANSWER_MS,
    sentinelRetryStrategy: retry,
  };
  // The contract leaves the arguments open.
  return (client.duplicate.bind(client) as (overrides: unknown) => RedisSubscriber)(overrides);
}

/** Subscribes over a second connection as soon as it is ready. */
export function subscribeOver(
  connection: RedisSubscriber,
  channels: readonly string[],
  listener: MessageListener,
): SecondConnection {
  let isClosed = false;
  connection.on("error", () => {}); // The event "end" follows.
  connection.on("connect", () => connection.stream?.unref?.());
  connection.on("ready", () => {
    if (isClosed) return;
    connection.subscribe(...channels).then(
      () => listener.opened(),
      (error: unknown) => isReply(error) ? listener.refused(error) : listener.ended(error),
    );
  });
  connection.on("message", (channel, message) => listener.message(channel, message));
  connection.on("end", () => listener.ended());
  return {
    probe: () => connection.subscribe(channels[0]!),
    close() {
      isClosed = true;
      // ioredis's disconnect() leaves a timer when there is no connection.
      if ((connection.status ?? "end") !== "end") connection.disconnect();
    },
  };
}
