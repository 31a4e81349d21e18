import { redis } from "@holdfast/lock/redis";
import { redlock } from "@holdfast/lock/redlock";
import { Masters } from "../../support/masters.ts";
import { RedisServer } from "../../support/redis_server.ts";
import { checkSuccession } from "./succeed.ts";

Deno.test("cohort(redis) hands the place of a waiter that gives up to the next one", async () => {
  await using server = await RedisServer.start();
  await checkSuccession(redis(server.connect()), redis(server.connect()));
});

Deno.test("cohort(redlock) hands the place of a waiter that gives up to the next one", async () => {
  await using masters = await Masters.start(3);
  await checkSuccession(redlock(await masters.connect()), redlock(await masters.connect()));
});
