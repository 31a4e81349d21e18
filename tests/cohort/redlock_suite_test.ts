import { redis } from "@holdfast/lock/redis";
import { redlock } from "@holdfast/lock/redlock";
import { storeSuite } from "@holdfast/testing";
import { checkCohortOptions } from "../../src/cohort/options.ts";
import { HandoffCohort } from "../../src/cohort/cohort.ts";
import { SystemClock } from "../../src/time/clock.ts";
import { Masters, settling } from "../support/masters.ts";
import { ofSeveral } from "./suites.ts";

/** How long a node may take on a busy machine, in milliseconds: by default 50 with the short leases of the suite. */
const NODE_TIMEOUT = 5_000;

storeSuite({
  test: ofSeveral("cohorts of redlock of 3 servers"),
  capabilities: ["shared", "evict", "query"],
  open: async () => {
    const masters = await Masters.start(3);
    const cohorts: HandoffCohort[] = [];
    return {
      connect: async () => {
        const clients = await masters.connect();
        const store = redlock(clients.map((client) => redis(client)), { nodeTimeout: NODE_TIMEOUT });
        const cohort = new HandoffCohort(settling(store, clients), new SystemClock(), checkCohortOptions({}));
        cohorts.push(cohort);
        return cohort;
      },
      leftovers: async () => {
        await Promise.all(cohorts.map((cohort) => cohort[Symbol.asyncDispose]()));
        return await masters.leftovers();
      },
      restart: async () => {
        await masters.kill(0, 1, 2);
        await Promise.all(masters.servers.map((server) => server.start()));
      },
      close: () => masters[Symbol.asyncDispose](),
    };
  },
});
