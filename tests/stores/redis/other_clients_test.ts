// Deno only: it runs in other runtimes as well, each library in one of them: tests/runtimes/inside/clients.ts.
import { storeSuite } from "@holdfast/testing";
import type { RedisServer } from "../../support/redis_server.ts";
import { IN_FULL, IN_PART, tested } from "./clients.ts";
import { place } from "./place.ts";

const NODE_REDIS = IN_FULL[1]!;

/** Another library, with other options. */
const clients = {
  "node-redis 6 with a key prefix": (server: RedisServer) =>
    tested(server.connect({ keyPrefix: "app:", db: 3, lazyConnect: true }), NODE_REDIS),
  ...Object.fromEntries(
    [NODE_REDIS, ...IN_PART].map((library) =>
      [library.name, (server: RedisServer) => tested(server.connect({ lazyConnect: true }), library)] as const
    ),
  ),
};

for (const [client, connect] of Object.entries(clients)) {
  storeSuite({
    test: (name, fn) => Deno.test(`redis over ${client}: ${name}`, fn),
    capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
    open: () => place(connect),
  });
}
