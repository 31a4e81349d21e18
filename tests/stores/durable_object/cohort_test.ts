// Deno only: it runs in workerd, too, as the row `objects` of the other runtimes.
import { durableObject } from "@holdfast/lock/durable-object";
import { storeSuite } from "@holdfast/testing";
import type { HandoffCohort } from "../../../src/cohort/cohort.ts";
import { dispose, FULL, made, ofSeveral } from "../../cohort/suites.ts";
import { ObjectHost } from "./host.ts";

storeSuite({
  test: ofSeveral("cohorts of durableObject()"),
  capabilities: FULL.filter((capability) => capability !== "query"),
  open: () => {
    const host = new ObjectHost();
    const cohorts: HandoffCohort[] = [];
    return {
      connect: () => {
        const cohort = made(durableObject(host), {});
        cohorts.push(cohort);
        return cohort;
      },
      leftovers: async () => {
        await dispose(cohorts);
        return [...host.used(), ...cohorts.flatMap(({ names }) => names)];
      },
      close: () => {},
    };
  },
});
