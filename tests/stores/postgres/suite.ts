import { storeSuite } from "@holdfast/testing";
import { runPostgres } from "../../../src/internal/sql/postgres_client.ts";
import { patient } from "../../support/patient.ts";
import { until } from "../../support/until.ts";
import { connectWith, type Library, newSchema, type TestClient } from "./clients.ts";
import { storeOver, usedIn } from "./place.ts";

/** Where the store suite runs. */
export interface SuitePlace {
  /** How the names of its tests go on, behind the library. */
  readonly what: string;
  readonly library: Library;
  /** Returns where its clients connect. */
  readonly url: () => string;
  /** Whether there is no such server. */
  readonly ignore: boolean;
  /** Whether waiters are woken, and do not poll. */
  readonly listens: boolean;
}

/** Runs the store suite with all capabilities. */
export function postgresSuite({ what, library, url, ignore, listens }: SuitePlace): void {
  storeSuite({
    test: (name, fn) => Deno.test({ name: `postgres() over ${library}${what}: ${name}`, ignore, fn }),
    capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
    open: async () => {
      const clients = [connectWith(library, url())];
      const [{ client }] = clients as [TestClient];
      const schema = await newSchema(client);
      return {
        connect: async () => {
          const connected = connectWith(library, url());
          clients.push(connected);
          // Some behaviours go by when it was granted: connecting takes long.
          await runPostgres(connected.client, "SELECT 1");
          return patient(storeOver(connected.client, { schema, listen: listens ? connected.listen : undefined }));
        },
        leftovers: () => usedIn(client, schema),
        close: async () => {
          await until(() => clients.every(({ listening }) => listening() === 0), "no connection listens");
          for (const client of clients) await client[Symbol.asyncDispose]();
        },
      };
    },
  });
}
