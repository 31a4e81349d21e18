import { redis } from "@holdfast/lock/redis";
import { redlock } from "@holdfast/lock/redlock";
import { Masters } from "../support/masters.ts";
import { RedisServer } from "../support/redis_server.ts";
import { checkSuccession } from "./succeed.ts";

Deno.test("cohort(redis) hands the place of a waiter that gives up to the next one", async () => {
  await using server = await RedisServer.start();
  await checkSuccession((observer) => redis(server.connect(), { observer }));
});

Deno.test("cohort(redlock) hands the place of a waiter that gives up to the next one", async () => {
  await using masters = await Masters.start(3);
  const clients = [await masters.connect(), await masters.connect()];
  await checkSuccession((observer) => redlock(clients.pop()!, { observer }));
});
