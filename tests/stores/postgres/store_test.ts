// Deno only: it starts servers.
import { storeSuite } from "@holdfast/lock/testing";
import { runPostgres } from "../../../src/internal/sql/postgres_client.ts";
import { until } from "../../support/until.ts";
import { sharedServer } from "./shared_server.ts";
import { connectWith, LIBRARIES, newSchema, type TestClient } from "./clients.ts";
import { storeOver, usedIn } from "./place.ts";
import { patient } from "../../support/patient.ts";

const CAPABILITIES = ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"] as const;

const { server, ignore } = await sharedServer();

for (const library of LIBRARIES) {
  for (const listens of [true, false]) {
    storeSuite({
      test: (name, fn) =>
        Deno.test({ name: `postgres() over ${library}, ${listens ? "woken" : "polling"}: ${name}`, ignore, fn }),
      capabilities: [...CAPABILITIES],
      open: async () => {
        const clients = [connectWith(library, server().url)];
        const [{ client }] = clients as [TestClient];
        const schema = await newSchema(client);
        return {
          connect: async () => {
            const connected = connectWith(library, server().url);
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
}
