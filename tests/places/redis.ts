import { redis } from "@holdfast/lock/redis";
import { redlock } from "@holdfast/lock/redlock";
import { Masters, settling } from "../support/masters.ts";
import { RedisServer } from "../support/redis_server.ts";
import { FULL, type Place } from "./place.ts";

/** How long a node may take on a busy machine, in milliseconds: by default 50 with the short leases of the suite. */
const NODE_TIMEOUT = 5_000;

/** One server. Each store has a connection of its own, as in another process. */
export const REDIS: Place = {
  of: "redis()",
  capabilities: FULL,
  open: async () => {
    const server = await RedisServer.start();
    return {
      connect: () => redis(server.connect()),
      leftovers: () => server.leftovers(),
      restart: async () => {
        await server.kill();
        await server.start();
      },
      close: () => server[Symbol.asyncDispose](),
    };
  },
};

/** Three servers. */
export const REDLOCK: Place = {
  of: "redlock() of 3 servers",
  capabilities: ["shared", "evict", "query"],
  open: async () => {
    const masters = await Masters.start(3);
    return {
      connect: async () => {
        const clients = await masters.connect();
        return settling(redlock(clients, { nodeTimeout: NODE_TIMEOUT }), clients);
      },
      leftovers: () => masters.leftovers(),
      restart: async () => {
        await masters.kill(0, 1, 2);
        await Promise.all(masters.servers.map((server) => server.start()));
      },
      close: () => masters[Symbol.asyncDispose](),
    };
  },
};
