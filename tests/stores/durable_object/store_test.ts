// Deno only: it runs in workerd, too, as the row `objects` of the other runtimes.
import { durableObject } from "@holdfast/lock/durable-object";
import { storeSuite } from "@holdfast/testing";
import { SystemClock } from "../../../src/time/clock.ts";
import { DurableObjectStore } from "../../../src/stores/durable_object/store.ts";
import { ObjectHost } from "./host.ts";

const STORES = {
  "DurableObjectStore": (host: ObjectHost) => new DurableObjectStore(host, undefined, new SystemClock()),
  "durableObject()": durableObject,
};

for (const [what, connect] of Object.entries(STORES)) {
  storeSuite({
    test: (name, run) => Deno.test(`${what} on objects in this process: ${name}`, run),
    open: () => {
      const host = new ObjectHost();
      return {
        connect: () => connect(host),
        leftovers: () => host.used(),
        restart: () => host.evict(),
        close: () => {},
      };
    },
    capabilities: what === "durableObject()"
      ? ["shared", "permits", "owner", "steal", "evict", "fences"]
      : ["shared", "permits", "owner", "steal", "evict", "fences", "runs"],
  });
}
