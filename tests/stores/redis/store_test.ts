import { storeSuite } from "@holdfast/testing";
import { RedisServer } from "../../support/redis_server.ts";
import { place } from "./place.ts";

/** Each option with one of the protocols: it changes what is sent, and the protocol what is answered. */
const clients = {
  "ioredis 6 with RESP3": (server: RedisServer) => server.connect({ protocol: 3 }),
  "ioredis 6 with RESP2, a key prefix and autopipelining": (server: RedisServer) =>
    server.connect({ protocol: 2, keyPrefix: "app:", enableAutoPipelining: true, db: 3 }),
};

for (const [client, connect] of Object.entries(clients)) {
  storeSuite({
    test: (name, fn) => Deno.test(`redis over ${client}: ${name}`, fn),
    capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
    open: () => place(() => RedisServer.start(), connect),
  });
}
