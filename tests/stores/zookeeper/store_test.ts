// Deno only: it takes long, and starts servers. Besides it only the fault run starts Java.
import { assert } from "@std/assert";
import { storeSuite } from "@holdfast/testing";
import { zookeeper } from "@holdfast/lock/zookeeper";
import { cohortsSuite } from "../../cohort/suites.ts";
import { ENSEMBLE, ZOOKEEPER } from "../../places/zookeeper.ts";
import { killHolder } from "../../support/killed_holder.ts";
import { OF_CONNECTIONS } from "../../support/part_of_suite.ts";
import { patient } from "../../support/patient.ts";
import { reallyEndsOnce } from "../../verification/events/really.ts";
import { queueModel } from "../../verification/queue/agrees.ts";
import { killedSuite } from "../../verification/killed_suite.ts";
import { ACROSS_NAMES, TOGETHER, webLocksOn } from "../../web_locks/suite.ts";
import { ignore, Place, serve } from "./place.ts";
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

// The three servers are asked by way of all of them, by our own client: `session.ts`.
storeSuite({
  test: (name, fn) => Deno.test({ name: `zookeeper() on one server: ${name}`, fn, ignore }),
  capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
  open: () => {
    const place = Place.open();
    return {
      connect: async () => patient(await place.engine()),
      leftovers: () => place.used(),
      close: () => place[Symbol.asyncDispose](),
    };
  },
});

cohortsSuite(ZOOKEEPER, {}, OF_CONNECTIONS);
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
