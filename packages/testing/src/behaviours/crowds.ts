import { acquire } from "@holdfast/lock";
import { TRY } from "../claims.ts";
import { check, claimOf, clock, limits, LONG_MS } from "../expect.ts";
import type { Behaviours } from "../fixture.ts";

/** The names that are used at once. */
const CROWDED = ["a", "b", "c", "d"];

/** How many callers of a client want each name at once, and how many times. */
const CALLERS = 2;
const ROUNDS = 10;

/** The behaviours of every store whose clients have calls for several names under way at once. */
export const crowds: Behaviours = {
  async "attempt() grants a name once when clients ask for several names at once"(fixture) {
    const stores = [await fixture.connect(), await fixture.connect()];
    let grants = 0;
    for (let round = 0; round < ROUNDS; round++) {
      // All calls of a client are sent before the first one is answered.
      const attempts = stores.flatMap((store) =>
        CROWDED.flatMap((name) =>
          Array.from({ length: CALLERS }, async () => {
            const claim = claimOf(name, LONG_MS);
            const { granted } = await store.attempt(claim, TRY);
            return { store, claim, granted };
          })
        )
      );
      const held = (await Promise.all(attempts)).filter(({ granted }) => granted);
      const names = held.map(({ claim: { name } }) => name);
      check(new Set(names).size === names.length, `each name is granted once: ${names.sort()}`);
      const released = await Promise.all(held.map(({ store, claim }) => store.release(claim)));
      check(released.every((each) => each), "each holder has held it until then");
      grants += held.length;
    }
    check(grants > 0, "somebody is granted a lock");
  },

  async "acquire() serves many callers of one client, each name by itself"(fixture) {
    const store = await fixture.connect();
    const [inside, fences] = [new Set<string>(), new Map<string, bigint>()];
    await Promise.all(CROWDED.flatMap((name) =>
      Array.from({ length: CALLERS }, async () => {
        for (let i = 0; i < ROUNDS; i++) {
          const lock = await acquire(store, name, { lease: LONG_MS, wait: limits.hang });
          try {
            check(!inside.has(name), `alone: ${name}`);
            inside.add(name);
            check(lock.fence > (fences.get(name) ?? 0n), `the fence rises: ${name}`);
            fences.set(name, lock.fence);
            await clock.sleep(0);
            inside.delete(name);
          } finally {
            await lock.release();
          }
        }
      })
    ));
  },
};
