import { cohort } from "@holdfast/lock/cohort";
import { LockManager } from "@holdfast/lock/web-locks";
import { RedisServer } from "../support/redis_server.ts";
import { until } from "../support/until.ts";
import { webLocksSuite } from "./suite.ts";

webLocksSuite({
  of: "LockManager on a cohort of redis",
  open: async () => {
    const server = await RedisServer.start();
    return {
      // Each is a process of its own, with a connection and a cohort of its own.
      connect: () => new LockManager(cohort(server.connect())),
      close: async () => {
        await until(async () => (await server.leftovers()).length === 0, "nothing is left");
        await server[Symbol.asyncDispose]();
      },
    };
  },
});
