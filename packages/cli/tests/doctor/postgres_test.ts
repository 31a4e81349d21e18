// Deno only: it starts servers.
import { assert, assertEquals } from "@std/assert";
import { examinePatient } from "../../../src/cli/doctor/examination.ts";
import type { Finding } from "../../../src/cli/doctor/finding.ts";
import { postgres as scheme } from "../../../src/cli/schemes/postgres.ts";
import { runPostgres } from "../../../src/internal/sql/postgres_client.ts";
import { connectWith, newSchema } from "../../stores/postgres/clients.ts";
import { sharedServer } from "../../stores/postgres/shared_server.ts";
import { Pgbouncer } from "../../support/pgbouncer.ts";
import { findPgbouncer } from "../../support/postgres.ts";
import { PostgresServer } from "../../support/postgres_server.ts";

const { server, ignore } = await sharedServer({ settings: { "fsync": "on" } });

/** Examines the database of a URL, as `doctor` does. */
async function examine(url: string): Promise<Finding[]> {
  await using patient = await scheme.examination([new URL(url)]).open();
  return await examinePatient(patient, new AbortController().signal);
}

/** Returns the findings that are not as they should be, as `level code`. */
function faults(findings: readonly Finding[]): string[] {
  return findings.filter(({ level }) => level !== "ok").map(({ level, code }) => `${level} ${code}`);
}

Deno.test({
  name: "postgresPatient() finds nothing wrong with a primary, and leaves no lock",
  ignore,
  fn: async () => {
    const findings = await examine(server().url);
    assertEquals(faults(findings), []);
    assertEquals(findings.map(({ code }) => code), ["standby", "synchronous-commit", "pooler", "clock", "lock"]);
    await using admin = connectWith("pg", server().url);
    const left = "SELECT value::json ->> 'holders' FROM holdfast_locks";
    assertEquals((await runPostgres(admin.client, left)).flat().filter((holders) => holders !== "[]"), []);
  },
});

Deno.test({
  name: "postgresPatient() finds another layout and missing rights, and names what to run",
  ignore,
  fn: async () => {
    await using admin = connectWith("pg", server().url);
    const [strange, closed] = [await newSchema(admin.client), await newSchema(admin.client)];
    await runPostgres(admin.client, `CREATE TABLE ${strange}.holdfast_locks (name text)`);
    const layout = await examine(`${server().url}?schema=${strange}`);
    assertEquals(faults(layout), ["error layout"]);
    await runPostgres(admin.client, "CREATE ROLE nobody LOGIN");
    const rights = await examine(`${server().urlOf("nobody")}?schema=${closed}`);
    assertEquals(faults(rights), ["error rights"]);
    for (const findings of [layout, rights]) {
      const { advice } = findings.find(({ level }) => level === "error")!;
      assert(/^(ALTER TABLE|GRANT)/.test(advice), advice);
    }
  },
});

Deno.test({
  name: "postgresPatient() finds fsync off, a standby, and a server that does not answer",
  ignore,
  fn: async () => {
    const primary = await PostgresServer.start();
    try {
      assertEquals(faults(await examine(primary.url)), ["warning synchronous-commit"]);
      await using standby = await PostgresServer.start();
      await standby.follow(primary);
      assertEquals(faults(await examine(standby.url)), ["error standby", "warning synchronous-commit"]);
      await primary.kill();
      assertEquals(faults(await examine(primary.url)), ["error unreachable"]);
    } finally {
      await primary[Symbol.asyncDispose]();
    }
  },
});

Deno.test({
  name: "postgresPatient() finds a pooler, unless it is told that nothing listens there",
  ignore: ignore || "missing" in findPgbouncer(),
  fn: async () => {
    await using pooler = await Pgbouncer.start(server(), "transaction");
    assertEquals(faults(await examine(pooler.url)), ["warning pooler"]);
    assertEquals(faults(await examine(`${pooler.url}?listen=false`)), []);
  },
});
