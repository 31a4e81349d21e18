// Deno only: it needs Deno.openKv.
import { denoKv } from "@holdfast/lock/deno-kv";
import { storeSuite } from "@holdfast/testing";
import type { HandoffCohort } from "../../../src/cohort/cohort.ts";
import { dispose, FULL, made, ofSeveral } from "../../cohort/suites.ts";
import { patient } from "../../support/patient.ts";
import { Place } from "./place.ts";

storeSuite({
  test: ofSeveral("cohorts of denoKv()"),
  capabilities: FULL,
  open: () => {
    const place = new Place("memory");
    const cohorts: HandoffCohort[] = [];
    return {
      connect: async () => {
        const cohort = made(patient(denoKv(await place.open())), {});
        cohorts.push(cohort);
        return cohort;
      },
      leftovers: async () => {
        await dispose(cohorts);
        return [...await place.used(), ...cohorts.flatMap(({ names }) => names)];
      },
      close: () => place[Symbol.dispose](),
    };
  },
});
