import { redis } from "@holdfast/lock/redis";
import { redlock } from "@holdfast/lock/redlock";
import { storeSuite } from "@holdfast/lock/testing";
import { SystemClock } from "../../../src/_clock.ts";
import { MemoryStore } from "../../../src/stores/_memory_store.ts";
import { RedisServer } from "../../redis_server.ts";

for (const n of [1, 2, 3, 5]) {
  storeSuite({
    test: (name, run) => Deno.test(`redlock of ${n} stores in memory: ${name}`, run),
    open: () => {
      const nodes = Array.from({ length: n }, () => new MemoryStore(undefined, new SystemClock()));
      return {
        connect: () => redlock(nodes),
        leftovers: () => nodes.flatMap((node) => node.names),
        close: () => {},
      };
    },
  });
}

storeSuite({
  test: (name, run) => Deno.test(`redlock of 3 servers: ${name}`, run),
  open: async () => {
    const servers = await Promise.all([0, 1, 2].map(() => RedisServer.start()));
    const all = async (run: (server: RedisServer) => Promise<unknown>) => void await Promise.all(servers.map(run));
    return {
      // The leases of the suite are short, and on a machine under load an answer may take longer than 50 ms.
      connect: () => redlock(servers.map((server) => redis(server.connect())), { nodeTimeout: 2_000 }),
      leftovers: async () => (await Promise.all(servers.map((server) => server.leftovers()))).flat(),
      restart: async () => {
        await all((server) => server.kill());
        await all((server) => server.start());
      },
      close: () => all((server) => server[Symbol.asyncDispose]()),
    };
  },
});
