import { assertEquals, assertInstanceOf } from "@std/assert";
import { acquire, type LockEvent, LockLostError, type LockTarget } from "@holdfast/lock";
import { cohort } from "@holdfast/lock/cohort";
import { redis } from "@holdfast/lock/redis";
import { RedisServer } from "../support/redis_server.ts";
import { replayed } from "../support/replayed.ts";
import { until } from "../support/until.ts";

const QUEUE = "{lock:a}:queue";

// A slow moment may last longer than a lease.
Deno.test("cohort() serves sleeping waiters that the server has forgotten", () => replayed(playRound));

async function playRound(): Promise<string | undefined> {
  await using server = await RedisServer.start();
  const [client, other] = [server.connect(), server.connect()];
  const events: string[] = [];
  const observer = ({ type }: LockEvent) => void events.push(type);
  await using store = cohort(redis(client, { observer }), { keep: 10, linger: 10 });
  const lease = 1_500;
  // So long that the holder does not lose it on a busy machine.
  const holder = await acquire(store, "a", { lease: 60_000 });
  const order: string[] = [];
  const begin = async (who: string, target: LockTarget) => {
    const lock = await acquire(target, "a", { lease });
    order.push(who);
    await lock.release().catch((error) => assertInstanceOf(error, LockLostError));
  };
  const queued = (count: number) =>
    until(async () => await other.zcard(QUEUE) === count, `${count} have a place in the queue`);
  const all = ["0", "1", "2"].map((who) => begin(who, store));
  await queued(3);
  all.push(begin("rival", other));
  await queued(4);
  // By then the server has expected another attempt of each of them.
  const began = performance.now();
  await until(() => performance.now() - began > 2 * lease, "time has passed");
  const forgotten = await other.zrange(QUEUE, "1", "2");
  await other.zrem(QUEUE, ...forgotten);
  await other.hdel("{lock:a}:waiters", ...forgotten);
  await holder.release();
  await Promise.all(all);
  if (events.includes("lost") || events.includes("fault")) return `a lease has ended: ${events}`;
  // They queue again when they attempt, with their own places; meanwhile the rival may have been granted the lock.
  assertEquals(order.filter((who) => who !== "rival"), ["0", "1", "2"]);
  return undefined;
}
