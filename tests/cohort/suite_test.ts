import { redis } from "@holdfast/lock/redis";
import { redlock } from "@holdfast/lock/redlock";
import { storeSuite } from "@holdfast/testing";
import type { CohortOptions } from "@holdfast/lock/cohort";
import type { HandoffCohort } from "../../src/cohort/cohort.ts";
import { SystemClock } from "../../src/time/clock.ts";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import { RedisServer } from "../support/redis_server.ts";
import { dispose, FULL, made, ofSeveral } from "./suites.ts";

/** Short turns, with which the process queues anew within most tests, and long ones. */
const OPTIONS: readonly CohortOptions[] = [{}, { linger: 10 }, { keep: 60_000, linger: 60_000 }];

for (const options of OPTIONS) {
  const what = JSON.stringify(options);
  storeSuite({
    test: (name, run) => Deno.test(`cohort ${what} of memory: ${name}`, run),
    capabilities: FULL,
    open: () => {
      const store = new MemoryStore(undefined, new SystemClock());
      const cohort = made(store, options);
      return {
        connect: () => cohort,
        leftovers: async () => {
          await dispose([cohort]);
          return [...store.names, ...cohort.names];
        },
        close: () => {},
      };
    },
  });

  // A process that lingers does not free the lock for another one at once.
  if (options.linger !== undefined) continue;

  storeSuite({
    test: ofSeveral(`cohorts ${what} of memory`),
    capabilities: FULL,
    open: () => {
      const store = new MemoryStore(undefined, new SystemClock());
      const cohorts: HandoffCohort[] = [];
      return {
        connect: () => {
          const cohort = made(store, options);
          cohorts.push(cohort);
          return cohort;
        },
        leftovers: async () => {
          await dispose(cohorts);
          return [...store.names, ...cohorts.flatMap(({ names }) => names)];
        },
        close: () => {},
      };
    },
  });
}

storeSuite({
  test: (name, run) => Deno.test(`cohort of redlock: ${name}`, run),
  capabilities: ["shared", "evict", "query"],
  open: () => {
    const nodes = [0, 1, 2].map(() => new MemoryStore(undefined, new SystemClock()));
    const cohort = made(redlock(nodes), { keep: 60_000 });
    return {
      connect: () => cohort,
      leftovers: async () => {
        await dispose([cohort]);
        const snapshots = await Promise.all(nodes.map((node) => node.query()));
        return snapshots.flatMap(({ held, pending }) => [...held, ...pending]).map(({ name }) => name);
      },
      close: () => {},
    };
  },
});

storeSuite({
  test: ofSeveral("cohorts of redis"),
  capabilities: FULL,
  open: async () => {
    const server = await RedisServer.start();
    const cohorts: HandoffCohort[] = [];
    return {
      connect: () => {
        const cohort = made(redis(server.connect()), {});
        cohorts.push(cohort);
        return cohort;
      },
      leftovers: async () => {
        await dispose(cohorts);
        return await server.leftovers();
      },
      restart: async () => {
        await server.kill();
        await server.start();
      },
      close: () => server[Symbol.asyncDispose](),
    };
  },
});
