import { conflict, enqueueInOrder, permit, QUEUE, TRY } from "../claims.ts";
import { busy, check, claimOf, granted, LONG_MS, SHORT_MS } from "../expect.ts";
import type { Behaviours } from "../fixture.ts";

/** The behaviours of a store that supports permits. */
export const permits: Behaviours = {
  async "attempt() grants as many as there are permits, and no more"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const [one, two, three] = [permit("pool", 2), permit("pool", 2), permit("pool", 2)];
    const fences = [granted(await a.attempt(one, TRY)), granted(await b.attempt(two, TRY))];
    granted(await b.attempt(two, TRY));
    busy(await a.attempt(three, TRY));
    check(await a.release(one), "one is given back");
    fences.push(granted(await a.attempt(three, TRY)));
    check(new Set(fences).size === 3, "each has a fence of its own");
    busy(await b.attempt(permit("pool", 2), TRY));
    await b.release(two);
    await a.release(three);
  },

  async "acquire() of a permit is served in order, also when a holder has died"(fixture) {
    const a = await fixture.connect();
    granted(await a.attempt(permit("dies", 2, SHORT_MS), TRY));
    const other = permit("dies", 2);
    granted(await a.attempt(other, TRY));
    const [first, second] = await enqueueInOrder(fixture, "dies", [2, 2]);
    const lock = await first!;
    await a.release(other);
    const next = await second!;
    check(lock.fence < next.fence, "in order");
    await Promise.all([lock.release(), next.release()]);
  },

  async "attempt() with another number of permits is a conflict, and leaves nothing"(fixture) {
    const [a, b] = [await fixture.connect(), await fixture.connect()];
    const holder = permit("number", 3);
    granted(await a.attempt(holder, TRY));
    for (const claim of [permit("number", 2), claimOf("number", LONG_MS)]) {
      const { present, own } = conflict(await b.attempt(claim, QUEUE));
      check(present === 3 && !own, `it is held with 3 permits: ${present}`);
      check(!await b.release(claim), "it does not wait");
    }
    await a.release(holder);
    const alone = claimOf("number", LONG_MS);
    granted(await a.attempt(alone, TRY));
    check(conflict(await b.attempt(permit("number", 3), TRY)).present === "exclusive", "now it has none");
    await a.release(alone);
  },
};
