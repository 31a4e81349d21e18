import { assertEquals } from "@std/assert";
import { acquire, type Observer, type Store } from "@holdfast/lock";
import { cohort } from "@holdfast/lock/cohort";
import { until } from "../support/until.ts";

/**
 * Checks that the waiter which gives up in a process is succeeded by the next one there, before another process.
 *
 * @param open makes the store of this process, with an observer, and that of the other one, without
 */
export async function checkSuccession(open: (observer?: Observer) => Store): Promise<void> {
  let waiting = 0;
  await using store = cohort(open(({ type }) => void (waiting += Number(type === "waiting"))), { keep: 60_000 });
  const other = open();
  const holder = await acquire(other, "a");
  const enough = new AbortController();
  const order: string[] = [];
  const section = async (who: string, target: Store) => {
    const lock = await acquire(target, "a");
    order.push(who);
    await lock.release();
  };
  const first = acquire(store, "a", { signal: enough.signal }).catch(() => {});
  await until(() => waiting === 1, "the first one waits");
  const all = [section("second", store), section("third", store)];
  await until(() => waiting === 3, "all of the process wait");
  const queued = async () => (await other.query!()).pending.length;
  const before = await queued();
  all.push(section("rival", other));
  await until(async () => await queued() === before + 1, "the rival waits");
  enough.abort(new Error("enough"));
  await first;
  await holder.release();
  await Promise.all(all);
  assertEquals(order, ["second", "third", "rival"]);
}
