// Deno only: it starts a server, and processes of Deno.
import { assert, assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { mysql } from "@holdfast/lock/mysql";
import { judgeSettings } from "../src/doctor/mysql.ts";
import type { Finding } from "../src/doctor/finding.ts";
import { ignore, Place } from "../../../tests/stores/mysql/place.ts";
import { holdfast, jsonLines, type Result } from "./cli_process.ts";

Place.serve();

function test(name: string, run: (place: Place, url: string) => Promise<void>): void {
  const fn = async () => {
    await using place = await Place.open();
    await run(place, `mysql://root@127.0.0.1:${Place.server.port}/${place.database}`);
  };
  Deno.test({ name, fn, ignore });
}

test("holdfast shows and takes away locks in a table of MariaDB", async (place, url) => {
  const lock = await acquire(mysql(place.pool(), { table: "my locks" }), "a", { strict: false });
  const store = `${url.replace("mysql:", "mariadb:")}?table=my%20locks`;
  const { status, out, err } = await holdfast(["ls", "--json"], { store });
  assertEquals([status, jsonLines<{ name: string }>(out).map(({ name }) => name)], [0, ["a"]], err);
  const { evicted } = JSON.parse((await holdfast(["evict", "a", "--yes", "--json"], { store })).out);
  assertEquals(evicted, 1);
  assertEquals((await holdfast(["show", "a"], { store })).status, 1);
  await lock.release().catch(() => {});
});

test("holdfast does not make a table in order to look at it", async (place, url) => {
  for (const args of [["ls"], ["show", "a"]]) {
    const { status, err } = await holdfast(args, { store: url });
    assert(status === 2 && err.startsWith("holdfast: there is no table holdfast_locks in the database "), err);
  }
  assertEquals(await place.query("SHOW TABLES"), []);
});

test("holdfast run makes the table, and holds the lock", async (place, url) => {
  const { status, out, err } = await holdfast(["run", "a", "--", "echo", "done"], { store: url });
  assertEquals([status, out], [0, "done\n"], err);
  assertEquals(await place.used(), []);
});

test("holdfast says why a database cannot be opened, without the password", async (place) => {
  const at = `127.0.0.1:${Place.server.port}/${place.database}`;
  for (const url of [`mysql://app:secret@${at}`, "mysql://app:secret@127.0.0.1:1/a"]) {
    const { status, err } = await holdfast(["ls"], { store: url });
    assert(status === 69 && err.includes(url.replace("app:secret@", "")) && !err.includes("secret"), err);
  }
});

/** Returns the codes of what is wrong. */
function wrong({ out }: Result): string[] {
  const findings = jsonLines<Finding>(out).filter(({ level, code }) => level !== "ok" && code !== "permission");
  return findings.map(({ level, code }) => `${level} ${code}`);
}

/** The server of the tests does not wait for the disk, nor does it limit transactions. */
const UNSET = ["warning persistence", "warning lost-connection"];

test("holdfast doctor leaves nothing on a healthy server", async (place, store) => {
  const result = await holdfast(["doctor", "--json"], { store });
  assertEquals([result.status, wrong(result)], [0, UNSET], result.out);
  assertEquals(await place.query("SELECT * FROM holdfast_locks"), []);
  const codes = jsonLines<Finding>(result.out).map(({ code }) => code);
  for (const code of ["version", "role", "autocommit", "layout", "clock", "lock"]) {
    assert(codes.includes(code as Finding["code"]), `${code} in ${codes}`);
  }
});

test("holdfast doctor finds how long a client lost in silence keeps its rows", async (place, store) => {
  const lost = async () => {
    const { out } = await holdfast(["doctor", "--json"], { store });
    const { level, found } = jsonLines<Finding>(out).find(({ code }) => code === "lost-connection")!;
    return `${level}: ${found}`;
  };
  const found = "idle_transaction_timeout off, idle_write_transaction_timeout";
  assertEquals(await lost(), `warning: wait_timeout 8h, ${found} off`);
  try {
    await place.query("SET GLOBAL idle_write_transaction_timeout = 60, GLOBAL tcp_keepalive_time = 600");
    assertEquals(await lost(), `ok: wait_timeout 8h, ${found} 1m, TCP keepalive 21m 15s`);
  } finally {
    await place.query("SET GLOBAL idle_write_transaction_timeout = 0, GLOBAL tcp_keepalive_time = 0");
  }
});

test("holdfast doctor finds a table that cannot keep locks, and missing rights", async (place, store) => {
  await place.query(
    `CREATE USER doctor_test@'127.0.0.1'; GRANT SELECT ON ${place.database}.* TO doctor_test@'127.0.0.1'`,
  );
  const poor = await holdfast(["doctor", "--json"], { store: store.replace("root@", "doctor_test@") });
  assertEquals([poor.status, wrong(poor)], [1, [...UNSET, "error rights"]], poor.out);
  assert(poor.out.includes("CREATE TABLE IF NOT EXISTS `holdfast_locks`"), poor.out);
  await place.query("CREATE TABLE holdfast_locks (id INT PRIMARY KEY)");
  const other = await holdfast(["doctor", "--json"], { store });
  assertEquals([other.status, wrong(other)], [1, [...UNSET, "error layout"]], other.out);
});

test("holdfast doctor finds that a server cannot be reached", async () => {
  const result = await holdfast(["doctor", "--json"], { store: "mysql://127.0.0.1:1/a" });
  assertEquals([result.status, wrong(result)], [1, ["error unreachable"]], result.out);
});

Deno.test("judgeSettings() judges the settings of a server", () => {
  const good = {
    version: "10.11.19-MariaDB",
    "read_only": "OFF",
    autocommit: "ON",
    "innodb_flush_log_at_trx_commit": "1",
    "wait_timeout": "60",
  };
  const faults = (changed: object) => {
    const found = judgeSettings(new Map(Object.entries({ ...good, ...changed })));
    return found.filter(({ level }) => level !== "ok").map(({ level, code }) => `${level} ${code}`);
  };
  assertEquals(faults({}), []);
  assertEquals(faults({ version: "8.4.2" }), ["warning version"]);
  for (const on of ["ON", "1"]) assertEquals(faults({ "read_only": on }), ["error role"]);
  assertEquals(faults({ autocommit: "OFF" }), ["error autocommit"]);
  for (const flush of ["0", "2"]) {
    assertEquals(faults({ "innodb_flush_log_at_trx_commit": flush }), ["warning persistence"]);
  }
  assertEquals(faults({ "wait_timeout": "28800" }), ["warning lost-connection"]);
  const keepalive = { "tcp_keepalive_time": "30", "tcp_keepalive_interval": "5", "tcp_keepalive_probes": "6" };
  assertEquals(faults({ "wait_timeout": "28800", ...keepalive }), []);
});
