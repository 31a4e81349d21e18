import { enqueueInOrder, TRY } from "../claims.ts";
import { check, claimOf, granted, LONG_MS } from "../expect.ts";
import type { Behaviours } from "../fixture.ts";
import type { Claim } from "../../store.ts";

/** What a store must show if it has `evict()`. */
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
};
