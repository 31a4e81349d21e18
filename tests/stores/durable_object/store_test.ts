// Deno only: it runs in workerd, too, as the row `objects` of the other runtimes.
import { storeSuite } from "@holdfast/testing";
import { SystemClock } from "../../../src/time/clock.ts";
import { DurableObjectStore } from "../../../src/stores/durable_object/store.ts";
import { ObjectHost } from "./host.ts";

storeSuite({
  test: (name, run) => Deno.test(`DurableObjectStore on objects in this process: ${name}`, run),
  open: () => {
    const host = new ObjectHost();
    return {
      connect: () => new DurableObjectStore(host, undefined, new SystemClock()),
      leftovers: () => host.used(),
      restart: () => host.evict(),
      close: () => {},
    };
  },
  capabilities: ["shared", "permits", "owner", "steal", "evict", "fences", "runs"],
});
