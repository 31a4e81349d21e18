// Deno only: it starts a server.
import { storeSuite } from "@holdfast/testing";
import type { HandoffCohort } from "../../../src/cohort/cohort.ts";
import { dispose, FULL, made, ofSeveral } from "../../cohort/suites.ts";
import { patient } from "../../support/patient.ts";
import { ignore, Place } from "./place.ts";

Place.serve();

if (!ignore) {
  storeSuite({
    test: ofSeveral("cohorts of etcd()"),
    capabilities: FULL,
    open: () => {
      const place = new Place();
      const cohorts: HandoffCohort[] = [];
      return {
        connect: () => {
          const cohort = made(patient(place.store()), {});
          cohorts.push(cohort);
          return cohort;
        },
        leftovers: async () => {
          await dispose(cohorts);
          return [...await place.used(), ...cohorts.flatMap(({ names }) => names)];
        },
        close: () => place.closed(),
      };
    },
  });
}
