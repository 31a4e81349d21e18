import { storeSuite } from "@holdfast/lock/testing";
import { RedisServer } from "../../support/redis_server.ts";
import { serverStore } from "../../support/server_store.ts";
import { IN_FULL, IN_PART, OF_RUNTIME, tested } from "./clients.ts";

const others = [...IN_FULL.slice(1), ...IN_PART, ...OF_RUNTIME].map((library) =>
  [library.name, (server: RedisServer) => tested(server.connect({ lazyConnect: true }), library)] as const
);

const clients = {
  "ioredis 6 with RESP3": (server: RedisServer) => server.connect({ protocol: 3 }),
  "ioredis 6 with RESP2": (server: RedisServer) => server.connect({ protocol: 2 }),
  "ioredis 6 with a key prefix and autopipelining": (server: RedisServer) =>
    server.connect({ keyPrefix: "app:", enableAutoPipelining: true, db: 3 }),
  "node-redis 6 with a key prefix": (server: RedisServer) =>
    tested(server.connect({ keyPrefix: "app:", db: 3, lazyConnect: true }), IN_FULL[1]),
  ...Object.fromEntries(others),
};

/**
 * ioredis 5 and iovalkey have timers for a while when a client is closed whose server has gone, and node-redis 6 after
 * each command, to limit its time.
 */
const LEAKY = { sanitizeOps: false, sanitizeResources: false };

for (const [client, connect] of Object.entries(clients)) {
  storeSuite({
    test: (name, fn) => {
      Deno.test({ name: `redis over ${client}: ${name}`, fn, ...(client.startsWith("ioredis 6") ? {} : LEAKY) });
    },
    capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
    open: async () => {
      const server = await RedisServer.start();
      return {
        connect: () => serverStore(connect(server)),
        leftovers: () => server.leftovers(),
        restart: async () => {
          await server.kill();
          await server.start();
        },
        close: () => server[Symbol.asyncDispose](),
      };
    },
  });
}
