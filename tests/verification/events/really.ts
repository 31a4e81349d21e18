import { SystemClock } from "../../../src/time/clock.ts";
import type { Store } from "../../../src/contract/store.ts";
import type { Fixture, Times } from "./ends.ts";

/** Times that are short enough to wait for. */
export const SHORT: Times = {
  end: 120,
  waits: [0, 0, 5, 60, 500, Infinity],
  leases: [60, 200, 500],
  holds: [0, 1, 10, 40, 150],
};

/** Runs on the machine's clock, with a store that was opened before. */
export function really(store: Store): Fixture {
  return {
    store,
    clock: new SystemClock(),
    lateMs: 2_000,
    pass: async (all) => {
      await all;
    },
  };
}
