// Deno only: it starts a server.
import { postgres } from "@holdfast/lock/postgres";
import { storeSuite } from "@holdfast/testing";
import type { HandoffCohort } from "../../../src/cohort/cohort.ts";
import { dispose, FULL, made, ofSeveral } from "../../cohort/suites.ts";
import { connectWith, newSchema } from "./clients.ts";
import { sharedServer } from "./shared_server.ts";
import { patient } from "../../support/patient.ts";

const { server, ignore } = await sharedServer();

storeSuite({
  test: ignore
    ? (name, fn) => Deno.test({ name: `cohorts of postgres(): ${name}`, ignore, fn })
    : ofSeveral("cohorts of postgres()"),
  capabilities: FULL,
  open: async () => {
    const connected = connectWith("pg", server().url);
    const schema = await newSchema(connected.client);
    const cohorts: HandoffCohort[] = [];
    return {
      connect: () => {
        const cohort = made(patient(postgres(connected.client, { schema })), {});
        cohorts.push(cohort);
        return cohort;
      },
      leftovers: async () => {
        await dispose(cohorts);
        const { held, pending } = await postgres(connected.client, { schema }).query();
        return [...[...held, ...pending].map(({ name }) => name), ...cohorts.flatMap(({ names }) => names)];
      },
      close: async () => await connected[Symbol.asyncDispose](),
    };
  },
});
