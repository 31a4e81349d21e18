// Deno only: it starts a server.
import { assert, assertEquals } from "@std/assert";
import pg from "pg";
import { acquire } from "@holdfast/lock";
import { type PgClient, postgres } from "@holdfast/lock/postgres";
import { checkPostgresOptions } from "../../../src/stores/postgres/options.ts";
import { PostgresBackend } from "../../../src/stores/postgres/store.ts";
import { SystemClock } from "../../../src/time/clock.ts";
import { until } from "../../support/until.ts";
import { warningsOf } from "../../support/warnings.ts";
import { connectWith } from "./clients.ts";
import { sharedServer } from "./shared_server.ts";

const { server, test } = await sharedServer();

test("acquire() warns that waiters poll, if the connection that listens cannot be made", async () => {
  await using opened = connectWith("pg", server().url);
  let tries = 0;
  const listen = () => {
    tries++;
    return new pg.Client(server().url.replace(/:\d+\//, ":1/")) as PgClient;
  };
  const [holder, store] = [postgres(opened.client), postgres(opened.client, { listen })];
  const warnings = await warningsOf(async () => {
    const lock = await acquire(holder, "a", { lease: 60_000 });
    const waiting = acquire(store, "a");
    await until(() => tries > 12, "it goes on trying");
    await lock.release();
    await (await waiting).release();
  });
  assertEquals(warnings.length, 1);
  assert(/^Waiters poll, since the store does not notify them: .*ECONNREFUSED/.test(warnings[0]!), warnings[0]);
});

Deno.test("PostgresBackend has no watch without a connection that listens", () => {
  const client = { query: () => Promise.reject(new Error("it is not asked")) };
  const backend = new PostgresBackend(client, checkPostgresOptions(client, {}), new SystemClock());
  assertEquals(backend.watch, undefined, "or it would warn of what was not asked for");
});
