// Deno only: it takes long, and starts servers. Besides it only the fault run starts Java.
import { assert } from "@std/assert";
import { delay } from "@std/async";
import { storeSuite } from "@holdfast/testing";
import { zookeeper } from "@holdfast/lock/zookeeper";
import type { CasStore } from "../../../src/engine/store.ts";
import { cohortsSuite } from "../../cohort/suites.ts";
import { ENSEMBLE, ZOOKEEPER } from "../../places/zookeeper.ts";
import { killHolder } from "../../support/killed_holder.ts";
import { patient } from "../../support/patient.ts";
import { reallyEndsOnce } from "../../verification/events/really.ts";
import { queueModel } from "../../verification/queue/agrees.ts";
import { killedSuite } from "../../verification/killed_suite.ts";
import { ACROSS_NAMES, TOGETHER, webLocksOn } from "../../web_locks/suite.ts";
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

cohortsSuite(ZOOKEEPER);
webLocksOn(ENSEMBLE, [ACROSS_NAMES, TOGETHER]);
queueModel(ENSEMBLE);
reallyEndsOnce(ZOOKEEPER);

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
