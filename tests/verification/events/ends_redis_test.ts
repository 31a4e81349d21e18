// Deno only: it starts a server.
import { assert } from "@std/assert";
import { redis } from "@holdfast/lock/redis";
import { redlock } from "@holdfast/lock/redlock";
import { RedisServer } from "../../support/redis_server.ts";
import { endsOnce, plansOf } from "./ends.ts";
import { really, SHORT } from "./really.ts";

Deno.test("acquire() on redis ends in one event", async () => {
  await using server = await RedisServer.start();
  const store = redis(server.connect());
  const counts = await endsOnce(plansOf(SHORT, { shared: true, faults: false }), 20, () => really(store));
  for (const what of ["acquired", "released", "gave_up busy"]) assert(counts.get(what)! > 0, what);
});

Deno.test("acquire() on redlock of servers ends in one event", async () => {
  await using first = await RedisServer.start();
  await using second = await RedisServer.start();
  await using third = await RedisServer.start();
  const store = redlock([first, second, third].map((server) => server.connect()));
  const counts = await endsOnce(plansOf(SHORT, { shared: false, faults: false }), 10, () => really(store));
  for (const what of ["acquired", "released", "gave_up busy"]) assert(counts.get(what)! > 0, what);
});
