import { enqueueInOrder, TRY } from "../claims.ts";
import { check, claimOf, granted, LONG_MS } from "../expect.ts";
import type { Behaviours } from "../fixture.ts";
import type { Claim } from "@holdfast/lock";
import { handleOf } from "@holdfast/lock/authors";

/** The behaviours of a store that has `evict()`. */
export const evict: Behaviours = {
  async "evict() frees a lock for the next waiter"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    check(await b.evict?.("evict") === 0, "nobody holds it");
    const holder = claimOf("evict", LONG_MS);
    granted(await a.attempt(holder, TRY));
    const [waiter] = await enqueueInOrder(fixture, "evict", ["exclusive"]);
    check(await b.evict?.("evict") === 1, "one holder");
    const lock = await waiter!;
    check(!await a.release(holder), "it has nothing to release");
    await lock.release();
  },

  async "evict() takes the lock from all holders, and returns how many"(fixture) {
    const store = await fixture.connect();
    const { capabilities = [] } = store;
    const kinds: Partial<Claim>[] = [{}];
    if (capabilities.includes("shared")) kinds.push({ mode: "shared" });
    if (capabilities.includes("permits")) kinds.push({ permits: 3 });
    for (const [name, kind] of kinds.entries()) {
      const holders = Array.from({ length: name === 0 ? 1 : 3 }, () => ({ ...claimOf(`${name}`, LONG_MS), ...kind }));
      for (const holder of holders) granted(await store.attempt(holder, TRY));
      check(await store.evict!(`${name}`) === holders.length, `${holders.length} hold it`);
      for (const holder of holders) check(await store.renew(holder) === "lost", "none of them does any more");
      check(await store.evict!(`${name}`) === 0, "nobody holds it");
      const next = claimOf(`${name}`, LONG_MS);
      granted(await store.attempt(next, TRY));
      check(await store.release(next), "the next one releases");
    }
  },

  async "evict() with a handle or a fence leaves the lock to a later holder"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [first, second] = [claimOf("named", LONG_MS), claimOf("named", LONG_MS)];
    const before = granted(await a.attempt(first, TRY));
    check(await a.release(first), "the first one releases");
    const fence = granted(await a.attempt(second, TRY));
    const [handle, former] = [handleOf(second), handleOf(first)];
    for (const named of [{ handle: former }, { fence: before }, { handle, fence: before }, { handle: former, fence }]) {
      check(await b.evict!("named", named) === 0, "nobody who is named holds it");
      check(await a.renew(second) === "renewed", "the second one holds it");
    }
    const [waiter] = await enqueueInOrder(fixture, "named", ["exclusive"]);
    check(await b.evict!("named", { handle }) === 1, "the second one loses it");
    const lock = await waiter!;
    check(await a.renew(second) === "lost", "it has lost it");
    check(!await a.release(second), "it has nothing to release");
    check(await b.evict!("named", { fence: lock.fence }) === 1, "the third one loses it");
    check(await b.evict!("named", { fence: lock.fence }) === 0, "nobody holds it");
    await lock.release().then(() => check(false, "it has nothing to release"), () => {});
  },

  async "evict() with a handle or a fence leaves the lock to other holders"(fixture) {
    const store = await fixture.connect();
    const { capabilities = [] } = store;
    const kinds: Partial<Claim>[] = [];
    if (capabilities.includes("shared")) kinds.push({ mode: "shared" });
    if (capabilities.includes("permits")) kinds.push({ permits: 3 });
    for (const [i, kind] of kinds.entries()) {
      const name = `beside ${i}`;
      const holders = Array.from({ length: 3 }, () => ({ ...claimOf(name, LONG_MS), ...kind }));
      const fences: bigint[] = [];
      for (const holder of holders) fences.push(granted(await store.attempt(holder, TRY)));
      check(await store.evict!(name, { handle: handleOf(holders[0]!) }) === 1, "one loses it");
      check(await store.evict!(name, { fence: fences[1]! }) === 1, "another one loses it");
      const renewals = await Promise.all(holders.map((holder) => store.renew(holder)));
      check(renewals.join() === "lost,lost,renewed", `these two have lost it: ${renewals}`);
      check(await store.release(holders[2]!), "the third one releases");
    }
  },
};
