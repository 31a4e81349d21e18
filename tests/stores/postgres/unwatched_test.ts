// Deno only: it starts a server.
import { assert, assertEquals } from "@std/assert";
import pg from "pg";
import process from "node:process";
import { acquire } from "@holdfast/lock";
import { type PgClient, postgres } from "@holdfast/lock/postgres";
import { checkPostgresOptions } from "../../../src/stores/postgres/options.ts";
import { PostgresBackend } from "../../../src/stores/postgres/store.ts";
import { SystemClock } from "../../../src/time/clock.ts";
import { HANG_MS, until } from "../../support/until.ts";
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
  let isWarned = false;
  const note = ({ name }: Error) => void (isWarned ||= name === "HoldfastWarning");
  process.on("warning", note);
  const warnings = await warningsOf(async () => {
    const lock = await acquire(holder, "a", { lease: 60_000 });
    const waiting = acquire(store, "a");
    // Of the tries before it some do not count: those that an attempt of the waiter has ended.
    await until(() => isWarned, "it warns", HANG_MS);
    const before = tries;
    await until(() => tries > before + 2, "it goes on trying");
    await lock.release();
    await (await waiting).release();
  });
  process.off("warning", note);
  assertEquals(warnings.length, 1);
  assert(/^Waiters poll, since the store does not notify them: .*ECONNREFUSED/.test(warnings[0]!), warnings[0]);
});

Deno.test("PostgresBackend has no watch without a connection that listens", () => {
  const client = { query: () => Promise.reject(new Error("it is not asked")) };
  const backend = new PostgresBackend(client, checkPostgresOptions(client, {}), new SystemClock());
  assertEquals(backend.watch, undefined, "or it would warn of what was not asked for");
});
