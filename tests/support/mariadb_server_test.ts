// Deno only: it starts a server.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { findMariadb } from "./mariadb.ts";
import { MariadbServer } from "./mariadb_server.ts";
import { until } from "./until.ts";

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

Deno.test({ name: "MariadbServer.checkAlive() says why the server has ended by itself", ignore }, async () => {
  await using server = await MariadbServer.start();
  const [[row]] = await server.query("SELECT @@pid_file AS path");
  await server.checkAlive();
  Deno.kill(Number(Deno.readTextFileSync(`${row!["path"]}`)), "SIGABRT");
  const check = () => server.checkAlive().then(() => undefined, (error: unknown) => `${error}`);
  let said: string | undefined;
  await until(async () => (said = await check()) !== undefined, "it has ended");
  assert(/had ended by itself: [^]*got signal 6/.test(said!), said);
  assertEquals((await server.query("SELECT 1 AS one"))[0], [{ one: 1 }]);
});
