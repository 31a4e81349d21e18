import { sqlite, type SqliteStore } from "@holdfast/lock/sqlite";
import { storeSuite } from "@holdfast/testing";
import type { HandoffCohort } from "../../src/cohort/cohort.ts";
import { dispose, FULL, made, ofSeveral } from "./suites.ts";

storeSuite({
  test: ofSeveral("cohorts of sqlite"),
  capabilities: FULL,
  open: () => {
    const directory = Deno.makeTempDirSync({ prefix: "holdfast_cohort_" });
    let stores: SqliteStore[] = [];
    let cohorts: HandoffCohort[] = [];
    const closeAll = async () => {
      await dispose(cohorts);
      for (const store of stores) store.close();
      [stores, cohorts] = [[], []];
    };
    return {
      connect: () => {
        const store = sqlite(`${directory}/locks.db`);
        const cohort = made(store, {});
        stores.push(store);
        cohorts.push(cohort);
        return cohort;
      },
      restart: closeAll,
      close: async () => {
        await closeAll();
        Deno.removeSync(directory, { recursive: true });
      },
    };
  },
});
