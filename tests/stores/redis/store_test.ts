import { Redis as Redis5 } from "ioredis5";
import { storeSuite } from "@holdfast/lock/testing";
import { RedisServer } from "../../support/redis_server.ts";
import { serverStore } from "../../support/server_store.ts";

const clients = {
  "ioredis 6 with RESP3": (server: RedisServer) => server.connect({ protocol: 3 }),
  "ioredis 6 with RESP2": (server: RedisServer) => server.connect({ protocol: 2 }),
  "ioredis 5": (server: RedisServer) => server.adopt(new Redis5(server.port, "127.0.0.1")),
  "ioredis 6 with a key prefix and autopipelining": (server: RedisServer) =>
    server.connect({ keyPrefix: "app:", enableAutoPipelining: true, db: 3 }),
};

/** ioredis 5 has timers for a while when a client is closed whose server has gone. */
const LEAKY = { sanitizeOps: false, sanitizeResources: false };

for (const [client, connect] of Object.entries(clients)) {
  storeSuite({
    test: (name, fn) => {
      Deno.test({ name: `redis over ${client}: ${name}`, fn, ...(client === "ioredis 5" ? LEAKY : {}) });
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
