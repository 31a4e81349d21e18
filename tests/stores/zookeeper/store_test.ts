// Deno only: it takes long, and starts servers. Besides it only the fault run starts Java.
import { assert } from "@std/assert";
import { delay } from "@std/async";
import { LockManager } from "@holdfast/lock/web-locks";
import { storeSuite } from "@holdfast/testing";
import { zookeeper } from "@holdfast/lock/zookeeper";
import type { HandoffCohort } from "../../../src/cohort/cohort.ts";
import type { CasStore } from "../../../src/engine/store.ts";
import { dispose, FULL, made, ofSeveral } from "../../cohort/suites.ts";
import { killHolder } from "../../support/killed_holder.ts";
import { patient } from "../../support/patient.ts";
import { until } from "../../support/until.ts";
import { endsOnce, plansOf } from "../../verification/events/ends.ts";
import { really, SHORT } from "../../verification/events/really.ts";
import { agreesInFewRuns } from "../../verification/queue/agrees.ts";
import { killedSuite } from "../../verification/killed_suite.ts";
import { ACROSS_NAMES, TOGETHER, webLocksSuite } from "../../web_locks/suite.ts";
import { ignore, oneServer, Place, serve, threeServers } from "./place.ts";
import "./behind.ts";
import "./command_line.ts";
import "./nodes.ts";
import "./refusals.ts";
import "./session.ts";
import "./sessions.ts";
import "./timers.ts";

serve();

/** A process that holds a lock until it is killed. */
const HOLDER = new URL("holder_process.ts", import.meta.url);

/** How long the leader lags behind at most, in milliseconds. */
const LAG_MS = 20;

/**
 * Lets a caller that does not wait ask twice: for a client of the leader a sync is no barrier, so that on a busy machine
 * it may read for a moment what a client of another server has replaced.
 */
function insistent(store: CasStore): CasStore {
  const attempt = store.attempt.bind(store);
  store.attempt = async (claim, options) => {
    const first = await attempt(claim, options);
    if (first.granted || options.enqueue) return first;
    await delay(LAG_MS);
    return await attempt(claim, options);
  };
  return store;
}

/** Where the suites run. The three servers are asked by way of all of them. */
const SERVERS = {
  "one server": [() => oneServer().address, (store: CasStore) => store],
  "three servers": [() => threeServers().address, insistent],
} as const;

for (const [servers, [address, told]] of Object.entries(SERVERS)) {
  storeSuite({
    test: (name, fn) => Deno.test({ name: `zookeeper() on ${servers}: ${name}`, fn, ignore }),
    capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
    open: () => {
      const place = Place.open(address());
      return {
        connect: async () => told(patient(await place.engine())),
        leftovers: () => place.used(),
        close: () => place[Symbol.asyncDispose](),
      };
    },
  });
}

if (!ignore) {
  storeSuite({
    test: ofSeveral("cohorts of zookeeper()"),
    capabilities: FULL,
    open: () => {
      const place = Place.open();
      const cohorts: HandoffCohort[] = [];
      return {
        connect: async () => {
          const cohort = made(patient(await place.store()), {});
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

  webLocksSuite({
    of: "LockManager on ZooKeeper",
    without: [ACROSS_NAMES, TOGETHER],
    open: async () => {
      const place = Place.open(threeServers().address);
      // It asks until there is an answer.
      const first = place.connecting();
      await first.query();
      return {
        connect: () => new LockManager(place.connecting()),
        close: async () => {
          await until(async () => {
            const { held, pending } = await first.query();
            return held.length + pending.length === 0;
          }, "nothing is left");
          await place[Symbol.asyncDispose]();
        },
      };
    },
  });
}

Deno.test({
  name: "zookeeper() grants what the model of the queue grants, in the same order",
  ignore,
  async fn() {
    await using place = Place.open(threeServers().address);
    const store = patient(await place.store());
    await agreesInFewRuns(store);
  },
});

Deno.test({
  name: "acquire() on ZooKeeper ends in one event",
  ignore,
  async fn() {
    await using place = Place.open();
    const store = patient(await place.store());
    const counts = await endsOnce(plansOf(SHORT, { shared: true, faults: false }), 20, () => really(store));
    for (const what of ["acquired", "released", "gave_up busy"]) assert(counts.get(what)! > 0, what);
  },
});

killedSuite({
  of: "ZooKeeper",
  ignore,
  open: () => {
    const place = Place.open();
    return {
      kill: (lease, held) => killHolder(HOLDER, place.address, place.path, `${lease}`, `${held}`),
      store: () => zookeeper(place.client(), { path: place.path }),
      engine: (clock) => place.engine(clock),
      async forgetTimers() {
        const backend = place.backend();
        const { value, version } = await backend.read("a");
        const { written } = await backend.write("a", value!.replace(/,"timer":"[^"]*"/, ""), version);
        assert(written);
      },
      [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
    };
  },
});
