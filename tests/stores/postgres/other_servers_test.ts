// Deno only: it starts servers.
import { Pgbouncer } from "../../support/pgbouncer.ts";
import { findLaterPostgres, findPgbouncer } from "../../support/postgres.ts";
import { sharedServer } from "./shared_server.ts";
import { postgresSuite } from "./suite.ts";

const later = findLaterPostgres();
const eighteen = "program" in later ? await sharedServer({ program: later.program }) : undefined;
const behind = await sharedServer();
const pooler = behind.ignore || "missing" in findPgbouncer()
  ? undefined
  : await Pgbouncer.start(behind.server(), "transaction");
Deno.test.afterAll(() => pooler?.[Symbol.asyncDispose]());

postgresSuite({
  what: " on PostgreSQL 18",
  library: "postgres.js",
  url: () => eighteen!.server().url,
  ignore: eighteen === undefined,
  listens: true,
});

postgresSuite({
  what: " through pgbouncer",
  library: "pg",
  url: () => pooler!.url,
  ignore: pooler === undefined,
  listens: false,
});
