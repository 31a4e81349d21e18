import { assertEquals } from "@std/assert";
import { acquire, type Store } from "@holdfast/lock";
import { cohort } from "@holdfast/lock/cohort";
import { until } from "../../support/until.ts";

/** Checks that the waiter which gives up in a process is succeeded by the next one there, before another process. */
export async function checkSuccession(mine: Store, other: Store): Promise<void> {
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
