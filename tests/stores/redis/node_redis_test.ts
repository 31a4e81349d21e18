// Deno only: it runs tests again that other runtimes run over ioredis.
/**
 * The tests of the Redis store on a server, over a client of node-redis 6 in the place of one of ioredis 6. The suite
 * runs over the other libraries in one runtime each: `tests/runtimes/inside/clients.ts`.
 *
 * @module
 */
import "./use_node_redis.ts";
import "./kinds_test.ts";
import "./owners_test.ts";
import "./revocations_test.ts";
import "./runs_test.ts";
import "./refusals_test.ts";
import "./paging_test.ts";
import "./reservations_test.ts";
import "./wakeups/wakeups_test.ts";
import "../../faults/half_open_test.ts";
import "../../faults/late_commands_test.ts";
import { storeSuite } from "@holdfast/testing";
import { RedisServer } from "../../support/redis_server.ts";
import { place } from "./place.ts";

const connect = (server: RedisServer) => server.connect({ keyPrefix: "app:", db: 3, lazyConnect: true });

storeSuite({
  test: (name, fn) => Deno.test(`redis over node-redis 6 with a key prefix: ${name}`, fn),
  capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
  open: () => place(() => RedisServer.start(), connect),
});
