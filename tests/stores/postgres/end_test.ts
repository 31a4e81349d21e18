// Deno only: it starts a server.
import { assertEquals } from "@std/assert";
import connect from "postgres";
import { runPostgres } from "../../../src/internal/sql/postgres_client.ts";
import { until } from "../../support/until.ts";
import { connectWith } from "./clients.ts";
import { sharedServer } from "./shared_server.ts";

const { server, ignore } = await sharedServer();

/** Postgres.js sends so many statements over a connection without an answer; more are queued. */
const PIPELINE = 100;

/** Ends a client of postgres.js with statements in its queue. Returns how many connections it has afterwards. */
async function connectionsAfter(options: { readonly timeout: number } | undefined): Promise<number> {
  await using admin = connectWith("pg", server().url);
  const count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ended'";
  const connections = async () => Number((await runPostgres(admin.client, count))[0]![0]);
  const sql = connect(server().url, { max: 1, connection: { application_name: "ended" }, onnotice: () => {} });
  await sql.unsafe("SELECT 1");
  const settled = Array.from({ length: 3 * PIPELINE }, () => sql.unsafe("SELECT 1").catch(() => {}));
  await sql.end(options);
  await Promise.all(settled);
  if (options !== undefined) await until(async () => await connections() === 0, "it has closed its connection");
  const left = await connections();
  // One that it has opened again is not closed by another end().
  await runPostgres(admin.client, count.replace("count(*)", "pg_terminate_backend(pid)"));
  await until(async () => await connections() === 0, "no connection is left");
  return left;
}

Deno.test({
  name: "sql.end() of postgres.js with timeout 0 leaves no connection",
  ignore,
  fn: async () => assertEquals(await connectionsAfter({ timeout: 0 }), 0),
});

Deno.test({
  name: "sql.end() of postgres.js connects again for statements that are queued",
  ignore,
  // Nothing can end a client that connects again: its timers stay.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => assertEquals(await connectionsAfter(undefined), 1),
});
