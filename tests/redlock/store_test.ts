import { redlock } from "@holdfast/lock/redlock";
import { storeSuite } from "@holdfast/testing";
import { SystemClock } from "../../src/time/clock.ts";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import { settling } from "../support/masters.ts";
import { RedisServer } from "../support/redis_server.ts";
import { serverStore } from "../support/server_store.ts";

// Three are servers below.
for (const n of [1, 2, 5]) {
  storeSuite({
    test: (name, run) => Deno.test(`redlock of ${n} stores in memory: ${name}`, run),
    capabilities: ["shared", "fences", "evict", "query"],
    open: () => {
      const nodes = Array.from({ length: n }, () => new MemoryStore(undefined, new SystemClock()));
      return {
        connect: () => redlock(nodes),
        leftovers: async () => {
          // Not their names: a node that has refused just before a lease ended there does not look again by itself.
          const snapshots = await Promise.all(nodes.map((node) => node.query()));
          return snapshots.flatMap(({ held, pending }) => [...held, ...pending]).map(({ name }) => name);
        },
        close: () => {},
      };
    },
  });
}

/** How long a node may take on a busy machine, in milliseconds: by default 50 with the short leases of the suite. */
const NODE_TIMEOUT = 5_000;

storeSuite({
  test: (name, run) => Deno.test(`redlock of 3 servers: ${name}`, run),
  capabilities: ["shared", "fences", "evict", "query"],
  open: async () => {
    const servers = await Promise.all([0, 1, 2].map(() => RedisServer.start()));
    const all = async (run: (server: RedisServer) => Promise<unknown>) => void await Promise.all(servers.map(run));
    return {
      connect: async () => {
        const clients = servers.map((server) => server.connect());
        // Connected to all: a holder that has a majority before it reaches the coordinator has no queue there yet.
        await Promise.all(clients.map((client) => client.ping()));
        return settling(redlock(clients.map((client) => serverStore(client)), { nodeTimeout: NODE_TIMEOUT }), clients);
      },
      leftovers: async () => (await Promise.all(servers.map((server) => server.leftovers()))).flat(),
      restart: async () => {
        await all((server) => server.kill());
        await all((server) => server.start());
      },
      close: () => all((server) => server[Symbol.asyncDispose]()),
    };
  },
});
