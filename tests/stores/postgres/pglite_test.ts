// Deno only: it starts a PGlite, which takes seconds.
import { storeSuite } from "@holdfast/testing";
import { runPostgres } from "../../../src/internal/sql/postgres_client.ts";
import { newSchema, pglite } from "./clients.ts";
import { storeOver, usedIn } from "./place.ts";

// It runs in the process: all stores share it, and each test has a schema of its own.
const database = pglite();
await runPostgres(database.client, "SELECT 1");
Deno.test.afterAll(async () => await database[Symbol.asyncDispose]());

storeSuite({
  test: (name, fn) => {
    Deno.test({ name: `postgres() on a PGlite: ${name}`, fn });
  },
  capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
  open: async () => {
    const schema = await newSchema(database.client);
    return {
      connect: () => storeOver(database.client, { schema, listen: true }),
      leftovers: () => usedIn(database.client, schema),
      close: () => {},
    };
  },
});
