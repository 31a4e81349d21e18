import { assert, assertEquals } from "@std/assert";
import { acquire, isLockLost } from "@holdfast/lock";
import { LockManager } from "@holdfast/lock/web-locks";
import { REDIS } from "../places/redis.ts";
import { RedisServer } from "../support/redis_server.ts";
import { failure, hold, holders, wait } from "./place.ts";
import { webLocksOn } from "./suite.ts";

webLocksOn(REDIS);

Deno.test("LockManager on a Redis client excludes acquire(), and others list its locks", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const [a, b] = [new LockManager(client), new LockManager(server.connect())];
  const lock = await acquire(client, "a");
  const asked = await wait(a, "a", { mode: "shared" });
  assertEquals(await holders(b, "a"), [{ name: "a", mode: "exclusive", clientId: lock.owner }]);
  assertEquals((await b.query()).pending, [{ name: "a", mode: "shared", clientId: a.clientId }]);
  await lock.release();
  const first = await asked.granted;
  assert(first!.fence > lock.fence);
  const thief = await hold(b, "a", { steal: true });
  assert(thief.lock!.fence > first!.fence);
  assert(isLockLost(await failure(asked.done)));
  assert(first!.signal.aborted);
  await thief.end();
});
