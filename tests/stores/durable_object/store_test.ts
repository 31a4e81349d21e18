import { durableObject } from "@holdfast/lock/durable-object";
import { storeSuite } from "@holdfast/lock/testing";
import { SystemClock } from "../../../src/internal/time/clock.ts";
import { parseDocument } from "../../../src/stores/cas/document.ts";
import { DurableObjectStore } from "../../../src/stores/durable_object/store.ts";
import { ObjectHost } from "./host.ts";

/** Returns the names of the locks that are held or waited for. */
function leftovers(host: ObjectHost): string[] {
  return [...host.objects].filter(([name, { storage }]) => {
    const stored = storage.values.get(`lock:${name}`) as { document: string } | undefined;
    return stored !== undefined && !parseDocument(name, stored.document).unused;
  }).map(([name]) => name);
}

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
        leftovers: () => leftovers(host),
        restart: () => host.evict(),
        close: () => {},
      };
    },
    capabilities: what === "durableObject()"
      ? ["shared", "permits", "owner", "steal", "evict", "fences"]
      : ["shared", "permits", "owner", "steal", "evict", "fences", "runs"],
  });
}
