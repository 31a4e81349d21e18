// Deno only: it starts servers.
import { assert, assertEquals } from "@std/assert";
import { examinePatient } from "../../src/doctor/examination.ts";
import type { Finding } from "../../src/doctor/finding.ts";
import { postgres as scheme } from "../../src/schemes/postgres.ts";
import { runPostgres } from "../../../../src/internal/sql/postgres_client.ts";
import { connectWith, newSchema } from "../../../../tests/stores/postgres/clients.ts";
import { sharedServer } from "../../../../tests/stores/postgres/shared_server.ts";
import { Pgbouncer } from "../../../../tests/support/pgbouncer.ts";
import { findPgbouncer } from "../../../../tests/support/postgres.ts";
import { PostgresServer } from "../../../../tests/support/postgres_server.ts";

const { server, ignore } = await sharedServer({
  settings: { "fsync": "on", "idle_in_transaction_session_timeout": "60s" },
});

/** Examines the database of a URL, as `doctor` does. */
async function examine(url: string): Promise<Finding[]> {
  await using patient = await scheme.examination([new URL(url)]).open();
  return await examinePatient(patient, new AbortController().signal);
}

/** Resolves to why the database of a URL lists only some of the locks. */
async function partial(url: string): Promise<string | undefined> {
  await using opened = await scheme.open([new URL(url)]);
  return await opened.partial?.();
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
    assertEquals(findings.map(({ code }) => code), [
      ...["standby", "synchronous-commit", "pooler", "lost-connection", "clock", "lock"],
    ]);
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
      assertEquals(faults(await examine(primary.url)), ["warning synchronous-commit", "warning lost-connection"]);
      await using standby = await PostgresServer.start();
      await standby.follow(primary);
      assertEquals(faults(await examine(standby.url)), ["error standby", "warning synchronous-commit"]);
      // So do the verbs that list.
      assertEquals(await partial(primary.url), undefined);
      assert(
        / is a standby, and lists what it has received: use the URL of the primary$/.test(
          `${await partial(standby.url)}`,
        ),
      );
      await primary.kill();
      assertEquals(faults(await examine(primary.url)), ["error unreachable"]);
    } finally {
      await primary[Symbol.asyncDispose]();
    }
  },
});

Deno.test({
  name: "postgresPatient() finds how long a client lost in silence keeps its rows",
  ignore: ignore || "missing" in findPgbouncer(),
  fn: async () => {
    await using other = await PostgresServer.start({
      settings: { "tcp_keepalives_idle": "30", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "3" },
    });
    await using pooler = await Pgbouncer.start(other, "session");
    const found = async (url: string) => {
      const { level, found } = (await examine(url)).find(({ code }) => code === "lost-connection")!;
      return `${level}: ${found}`;
    };
    assertEquals(await found(other.url), "ok: idle_in_transaction_session_timeout off, TCP keepalive 1m");
    // Those of the server are of its connection to the pooler.
    const behind = await found(`${pooler.url}?listen=false`);
    assertEquals(behind, "warning: idle_in_transaction_session_timeout off");
    await using admin = connectWith("pg", other.url);
    await runPostgres(admin.client, "ALTER DATABASE postgres SET tcp_user_timeout = '90s'");
    assertEquals(await found(other.url), "warning: idle_in_transaction_session_timeout off, TCP keepalive 2m");
    await runPostgres(admin.client, "ALTER DATABASE postgres SET idle_in_transaction_session_timeout = '60s'");
    assertEquals(await found(other.url), "ok: idle_in_transaction_session_timeout 1m, TCP keepalive 2m");
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
