import { assertEquals } from "@std/assert";
import { acquire, type Store } from "@holdfast/lock";
import { cohort } from "@holdfast/lock/cohort";
import { redis } from "@holdfast/lock/redis";
import { redlock } from "@holdfast/lock/redlock";
import { sqlite } from "@holdfast/lock/sqlite";
import { Masters } from "../../support/masters.ts";
import { RedisServer } from "../../support/redis_server.ts";
import { until } from "../../support/until.ts";

/** Checks that the waiter which gives up in a process is succeeded by the next one there, before another process. */
async function check(mine: Store, other: Store): Promise<void> {
  await using store = cohort(mine, { keep: 10 });
  const waiting = (count: number) =>
    until(async () => (await other.query!()).pending.length === count, `${count} are in the queue of the store`);
  const holder = await acquire(other, "a");
  const enough = new AbortController();
  const order: string[] = [];
  const section = async (who: string, target: Store) => {
    const lock = await acquire(target, "a");
    order.push(who);
    await lock.release();
  };
  const first = acquire(store, "a", { signal: enough.signal }).catch(() => {});
  await waiting(1);
  const all = [section("second", store), section("third", store), section("stranger", other)];
  await waiting(2);
  enough.abort(new Error("enough"));
  await first;
  await waiting(2);
  await holder.release();
  await Promise.all(all);
  assertEquals(order, ["second", "third", "stranger"]);
}

Deno.test("cohort(redis) hands the place of a waiter that gives up to the next one", async () => {
  await using server = await RedisServer.start();
  await check(redis(server.connect()), redis(server.connect()));
});

Deno.test("cohort(sqlite) hands the place of a waiter that gives up to the next one", async () => {
  const directory = await Deno.makeTempDir({ prefix: "holdfast_" });
  const [mine, other] = [sqlite(`${directory}/locks.db`), sqlite(`${directory}/locks.db`)];
  try {
    await check(mine, other);
  } finally {
    mine.close();
    other.close();
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("cohort(redlock) hands the place of a waiter that gives up to the next one", async () => {
  await using masters = await Masters.start(3);
  await check(redlock(await masters.connect()), redlock(await masters.connect()));
});
