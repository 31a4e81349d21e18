// Deno only: it starts a front of HTTP, and runs tests again that other runtimes run over ioredis.
/**
 * The tests of the Redis store on a server, over HTTP, as far as a client without a subscription has them.
 *
 * @module
 */
import "./use_upstash.ts";
import "./kinds_test.ts";
import "./owners_test.ts";
import "./runs_test.ts";
import "./paging_test.ts";
import "./reservations_test.ts";
import "../../faults/half_open_test.ts";
import "../../faults/late_commands_test.ts";
import { storeSuite } from "@holdfast/testing";
import { RedisServer } from "../../support/redis_server.ts";
import { serverStore } from "../../support/server_store.ts";

storeSuite({
  // A client without a subscription learns of a revocation at its next renewal, and requests overtake each other.
  test: (name, fn) =>
    /^revocation\(\)| one process in the(ir)? order/.test(name) || Deno.test(`redis over upstash(): ${name}`, fn),
  capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
  open: async () => {
    const server = await RedisServer.start();
    return {
      connect: () => serverStore(server.connect()),
      leftovers: () => server.leftovers(),
      restart: async () => {
        await server.kill();
        await server.start();
      },
      close: () => server[Symbol.asyncDispose](),
    };
  },
});
