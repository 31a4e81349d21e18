// Deno only: it starts a server.
import { assert, assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { postgres } from "@holdfast/lock/postgres";
import { runPostgres } from "../../../src/internal/sql/postgres_client.ts";
import { tableSql } from "../../../src/stores/postgres/schema.ts";
import { PostgresServer } from "../../support/postgres_server.ts";
import { findPostgres } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";
import { connectWith } from "./clients.ts";

/** The SQL of the page: the table, the listing, the settings. */
const [TABLE = "", LISTING = "", SETTINGS = ""] = Array.from(
  Deno.readTextFileSync(new URL("../../../docs/stores/postgres.md", import.meta.url)).matchAll(
    /^```sql\n([^]*?)^```$/gm,
  ),
  ([, sql]) => sql!.trim().replace(/;$/, ""),
);

Deno.test("docs/stores/postgres.md has the table that the store makes", () => {
  assertEquals(TABLE.split(";\n")[0], tableSql({ schema: "public", table: "holdfast_locks" }));
});

Deno.test({
  name: "docs/stores/postgres.md has a query that lists who holds a lock and who waits",
  ignore: "missing" in findPostgres(),
  fn: async () => {
    await using server = await PostgresServer.start();
    await using admin = connectWith("pg", server.url);
    await runPostgres(admin.client, "CREATE ROLE app LOGIN");
    for (const statement of TABLE.split(";\n")) await runPostgres(admin.client, statement);
    await using connected = connectWith("postgres.js", server.urlOf("app"));
    const store = postgres(connected.client);
    const lock = await acquire(store, "invoice:42", { lease: 3_600_000, meta: { job: "é \0" } });
    const other = postgres(connected.client);
    const waiting = acquire(other, "invoice:42");
    await until(async () => (await store.query()).pending.length === 1, "it waits");
    await using nul = await acquire(store, "nul\0", { lease: 60_000 });
    await using printers = await acquire(store, "printers", { permits: 3, lease: 1_800_000 });
    const rows = await runPostgres(
      admin.client,
      LISTING.replace(
        "SELECT",
        "SELECT extract(epoch FROM" +
          " to_timestamp((entry ->> 'end')::float8 / 1000) - clock_timestamp())::int AS seconds,",
      ),
    );
    const { held, pending } = await store.query();
    assertEquals(rows.map(([, name, handle, , fence, holds]) => [name, handle, fence, holds]), [
      ["invoice:42", held[0]!.handle, `${lock.fence}`, true],
      ["invoice:42", pending[0]!.handle, null, false],
      ["nul␀", held[1]!.handle, `${nul.fence}`, true],
      ["printers", held[2]!.handle, `${printers.fence}`, true],
    ]);
    const [first, , , third] = rows.map(([seconds]) => Number(seconds));
    // The server's date at a write is known to within a request, which a slow machine makes long.
    assert(Math.abs(first! - 3_600) < 60 && Math.abs(third! - 1_800) < 60, `${rows}`);
    await lock.release();
    await (await waiting).release();
    await runPostgres(admin.client, SETTINGS);
    const [[options] = []] = await runPostgres(
      admin.client,
      "SELECT array_to_string(reloptions, ' ') FROM pg_class WHERE relname = 'holdfast_locks'",
    );
    assert(String(options).startsWith("fillfactor=50 autovacuum_vacuum_scale_factor=0"), `${options}`);
    const [[toast] = []] = await runPostgres(
      admin.client,
      "SELECT array_to_string(t.reloptions, ' ') FROM pg_class c JOIN pg_class t ON t.oid = c.reltoastrelid " +
        "WHERE c.relname = 'holdfast_locks'",
    );
    assert(String(toast).startsWith("autovacuum_vacuum_scale_factor=0"), `${toast}`);
  },
});
