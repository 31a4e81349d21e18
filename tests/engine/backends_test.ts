// Deno only: it takes long, and tests the same code as store_test.ts.
import { storeSuite } from "@holdfast/testing";
import { SystemClock } from "../../src/time/clock.ts";
import { CasStore } from "../../src/engine/store.ts";
import { parseDocument } from "../../src/engine/document.ts";
import { Documents, memoryBackend, type MemoryBackendOptions } from "./memory_backend.ts";

/** Other backends, with which the engine does something else; `store_test.ts` has one with a server's clock. */
const BACKENDS: Readonly<Record<string, MemoryBackendOptions>> = {
  "without a clock": {},
  "that is polled": { watches: false },
};

const SETTINGS = { maxClockSkew: 10_000, observer: undefined };

for (const [kind, options] of Object.entries(BACKENDS)) {
  storeSuite({
    test: (name, run) => Deno.test(`cas() on a backend ${kind}: ${name}`, run),
    open: () => {
      const documents = new Documents();
      return {
        connect: () => new CasStore(memoryBackend(documents, options), SETTINGS, new SystemClock()),
        leftovers: () =>
          [...documents.texts].filter(([name, { value }]) => !parseDocument(name, value).unused).map(([name]) => name),
        close: () => {},
      };
    },
    capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
  });
}
