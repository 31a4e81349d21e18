// Deno only: it takes long, and tests the same code as store_test.ts.
import { storeSuite } from "@holdfast/testing";
import { parseDocument } from "../../src/engine/document.ts";
import { cas } from "../../src/engine/mod.ts";
import type { HandoffCohort } from "../../src/cohort/cohort.ts";
import { dispose, FULL, made, ofSeveral } from "../cohort/suites.ts";
import { Documents, memoryBackend } from "./memory_backend.ts";

for (const clock of [undefined, Date.now]) {
  const kind = clock === undefined ? "without a clock" : "with a clock";
  storeSuite({
    test: ofSeveral(`cohorts of cas() ${kind}`),
    capabilities: FULL,
    open: () => {
      const documents = new Documents();
      const cohorts: HandoffCohort[] = [];
      return {
        connect: () => {
          const cohort = made(cas(memoryBackend(documents, { clock })), {});
          cohorts.push(cohort);
          return cohort;
        },
        leftovers: async () => {
          await dispose(cohorts);
          const left = [...documents.texts].filter(([name, { value }]) => !parseDocument(name, value).unused);
          return [...left.map(([name]) => name), ...cohorts.flatMap(({ names }) => names)];
        },
        close: () => {},
      };
    },
  });
}
