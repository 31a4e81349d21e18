// Deno only: it starts servers.
import { storeSuite } from "@holdfast/lock/testing";
import { runPostgres } from "../../../src/internal/sql/postgres_client.ts";
import { Pgbouncer } from "../../support/pgbouncer.ts";
import { findLaterPostgres, findPgbouncer } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";
import { connectWith, type Library, newSchema, type TestClient } from "./clients.ts";
import { storeOver, usedIn } from "./place.ts";
import { sharedServer } from "./shared_server.ts";
import { patient } from "../../support/patient.ts";

const CAPABILITIES = ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"] as const;

const later = findLaterPostgres();
const eighteen = "program" in later ? await sharedServer({ program: later.program }) : undefined;
const behind = await sharedServer();
const pooler = behind.ignore || "missing" in findPgbouncer()
  ? undefined
  : await Pgbouncer.start(behind.server(), "transaction");
Deno.test.afterAll(() => pooler?.[Symbol.asyncDispose]());

interface Place {
  readonly what: string;
  readonly library: Library;
  /** Where its clients connect; `undefined` if it is missing. */
  readonly url: string | undefined;
  readonly listens: boolean;
}

const PLACES: readonly Place[] = [
  { what: "on PostgreSQL 18", library: "postgres.js", url: eighteen?.server().url, listens: true },
  { what: "through pgbouncer", library: "pg", url: pooler?.url, listens: false },
];

for (const { what, library, url, listens } of PLACES) {
  storeSuite({
    test: (name, fn) =>
      Deno.test({ name: `postgres() over ${library} ${what}: ${name}`, ignore: url === undefined, fn }),
    capabilities: [...CAPABILITIES],
    open: async () => {
      const clients = [connectWith(library, url!)];
      const [{ client }] = clients as [TestClient];
      const schema = await newSchema(client);
      return {
        connect: async () => {
          const connected = connectWith(library, url!);
          clients.push(connected);
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
