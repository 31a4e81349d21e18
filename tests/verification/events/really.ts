import { assert } from "@std/assert";
import { SystemClock } from "../../../src/time/clock.ts";
import { connected, type Place, testOn } from "../../places/place.ts";
import { HANG_MS } from "../../support/until.ts";
import { endsOnce, plansOf, type Times } from "./ends.ts";

/** Times that are short enough to wait for. */
const SHORT: Times = {
  end: 120,
  waits: [0, 0, 5, 60, 500, Infinity],
  leases: [60, 200, 500],
  holds: [0, 1, 10, 40, 150],
};

/** Defines the test of a place, on the machine's clock. */
export function reallyEndsOnce(place: Place, runs = 20): void {
  testOn(place, `acquire() on ${place.of} ends in one event`, async (fixture) => {
    const store = await connected(fixture);
    const plans = plansOf(SHORT, { shared: place.capabilities.includes("permits"), faults: false });
    const counts = await endsOnce(plans, runs, () => ({
      store,
      clock: new SystemClock(),
      lateMs: HANG_MS,
      pass: async (all) => {
        await all;
      },
    }));
    for (const what of ["acquired", "released", "gave_up busy"]) assert(counts.get(what)! > 0, what);
  });
}
