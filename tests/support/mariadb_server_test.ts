// Deno only: it starts a server.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { findMariadb } from "./mariadb.ts";
import { MariadbServer } from "./mariadb_server.ts";

const ignore = "missing" in findMariadb();

Deno.test({ name: "MariadbServer keeps what was committed when it is killed", ignore }, async () => {
  await using server = await MariadbServer.start(["--innodb-flush-log-at-trx-commit=2"]);
  const [[row]] = await server.query("SELECT VERSION() AS version, @@innodb_flush_log_at_trx_commit AS flush");
  assert(/^\d+\.\d+\.\d+-MariaDB/.test(`${row!["version"]}`), `${row!["version"]}`);
  assertEquals(row!["flush"], 2);
  await server.query("CREATE TABLE kept (id INT PRIMARY KEY) ENGINE=InnoDB");
  await server.query("INSERT INTO kept VALUES (42)");
  await server.kill();
  await assertRejects(() => server.query("SELECT 1"), Error);
  await server.start();
  assertEquals((await server.query("SELECT id FROM kept"))[0].map(({ id }) => id), [42]);
});
