import { storeSuite } from "@holdfast/testing";
import { SystemClock } from "../../src/time/clock.ts";
import { CasStore } from "../../src/engine/store.ts";
import { parseDocument } from "../../src/engine/document.ts";
import { Documents, memoryBackend } from "./memory_backend.ts";

const SETTINGS = { maxClockSkew: 10_000, observer: undefined };

storeSuite({
  test: (name, run) => Deno.test(`cas() on a backend with a server's clock: ${name}`, run),
  open: () => {
    const documents = new Documents();
    return {
      connect: () => new CasStore(memoryBackend(documents, { clock: Date.now }), SETTINGS, new SystemClock()),
      leftovers: () =>
        [...documents.texts].filter(([name, { value }]) => !parseDocument(name, value).unused).map(([name]) => name),
      close: () => {},
    };
  },
  capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
});
