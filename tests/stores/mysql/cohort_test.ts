// Deno only: it starts a server.
import { mysql } from "@holdfast/lock/mysql";
import { storeSuite } from "@holdfast/testing";
import type { HandoffCohort } from "../../../src/cohort/cohort.ts";
import { dispose, FULL, made, ofSeveral } from "../../cohort/suites.ts";
import { ignore, Place } from "./place.ts";
import { patient } from "../../support/patient.ts";

Place.serve();

if (!ignore) {
  storeSuite({
    test: ofSeveral("cohorts of mysql()"),
    capabilities: FULL,
    open: async () => {
      const place = await Place.open();
      const cohorts: HandoffCohort[] = [];
      return {
        connect: async () => {
          const store = patient(mysql(place.pool()));
          await store.query();
          const cohort = made(store, {});
          cohorts.push(cohort);
          return cohort;
        },
        leftovers: async () => {
          await dispose(cohorts);
          return [...await place.used(), ...cohorts.flatMap(({ names }) => names)];
        },
        close: () => place[Symbol.asyncDispose](),
      };
    },
  });
}
