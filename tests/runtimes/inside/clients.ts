/**
 * The store suite on Redis over other clients than that of ioredis 6, over which all tests of the Redis store run: each
 * library in one of the runtimes. The event stream of `upstash()` in all of them.
 *
 * @module
 */
import { acquire, type RedisClient } from "@holdfast/lock";
import { storeSuite } from "@holdfast/testing";
import { upstash } from "@holdfast/lock/upstash";
import { IN_FULL, IN_PART, OF_BUN, OF_GLIDE } from "../../stores/redis/clients.ts";
import { OPEN, testBadInput } from "../../stores/redis/clients/bad_input.ts";
import { place } from "../../stores/redis/place.ts";
import { tested } from "../../stores/redis/tested.ts";
import { Wakeups } from "../../../src/stores/redis/wakeups/wakeups.ts";
import { until } from "../../support/until.ts";
import { RedisServer } from "./redis_server.ts";
import { settings } from "./settings.ts";

const LIBRARIES = [...IN_FULL, ...IN_PART, OF_BUN, OF_GLIDE];

/** Returns a client of a library, which is closed with the server. */
async function connect(library: string, server: RedisServer): Promise<RedisClient> {
  if (library === "upstash") return upstash(await server.front());
  return tested(server.connect({ lazyConnect: true }), LIBRARIES.find(({ name }) => name === library)!);
}

for (const library of settings.clients) {
  if (library in OPEN) testBadInput(library, Deno.test);
  storeSuite({
    test: (name, run) => {
      // A client without a subscription learns of a revocation at its next renewal, and requests overtake each other.
      if (library === "upstash" && /^revocation\(\)| one process in the(ir)? order/.test(name)) return;
      Deno.test(`redis over ${library} here: ${name}`, run);
    },
    capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
    open: () => place(() => RedisServer.start(), (server) => connect(library, server)),
  });
}

Deno.test("upstash() here: a waiter is woken over the event stream, which ends then", async () => {
  await using server = await RedisServer.start();
  const [from, to] = [upstash(await server.front()), upstash(await server.front())];
  const first = await acquire(from, "a", { lease: 60_000 });
  const waiting = acquire(to, "a", { lease: 60_000 });
  await until(() => Wakeups.of(to).subscription.open, "the waiter is subscribed");
  await first.release();
  const lock = await waiting;
  await until(() => !Wakeups.of(to).subscription.open, "the stream is closed");
  await lock.release();
});
