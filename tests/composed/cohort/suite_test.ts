import type { Store } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { redlock } from "@holdfast/lock/redlock";
import { sqlite, type SqliteStore } from "@holdfast/lock/sqlite";
import { storeSuite } from "@holdfast/lock/testing";
import type { CohortOptions } from "@holdfast/lock/cohort";
import { checkCohortOptions } from "../../../src/composed/cohort/options.ts";
import { CohortStore } from "../../../src/composed/cohort/store.ts";
import { SystemClock } from "../../../src/internal/clock.ts";
import { MemoryStore } from "../../../src/stores/memory/store.ts";
import { RedisServer } from "../../support/redis_server.ts";

const FULL = ["shared", "permits", "owner", "steal", "evict", "query"] as const;

/** Short turns, with which the process queues anew within most tests, and long ones. */
const OPTIONS: readonly CohortOptions[] = [{}, { linger: 10 }, { keep: 60_000, linger: 60_000 }];

function made(store: Store, options: CohortOptions): CohortStore {
  return new CohortStore(store, checkCohortOptions(options), new SystemClock());
}

/** Defines the tests of several cohorts. Of another one, a process lists only the ids under which that asks. */
function ofSeveral(what: string): (name: string, run: () => Promise<void>) => void {
  return (name, run) => {
    if (!name.startsWith("query() lists holders and waiters")) Deno.test(`${what}: ${name}`, run);
  };
}

async function dispose(cohorts: readonly CohortStore[]): Promise<void> {
  await Promise.all(cohorts.map((each) => each[Symbol.asyncDispose]()));
}

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
      const cohorts: CohortStore[] = [];
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
  capabilities: ["shared"],
  open: () => {
    const nodes = [0, 1, 2].map(() => new MemoryStore(undefined, new SystemClock()));
    const cohort = made(redlock(nodes), {});
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
  test: ofSeveral("cohorts of sqlite"),
  capabilities: FULL,
  open: () => {
    const directory = Deno.makeTempDirSync({ prefix: "holdfast_cohort_" });
    let stores: SqliteStore[] = [];
    let cohorts: CohortStore[] = [];
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

storeSuite({
  test: ofSeveral("cohorts of redis"),
  capabilities: FULL,
  open: async () => {
    const server = await RedisServer.start();
    const cohorts: CohortStore[] = [];
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
