// Deno only: it starts a server.
import { assert, assertEquals, assertRejects } from "@std/assert";
import mariadb from "mariadb";
import { acquire } from "@holdfast/lock";
import { mysql, type MysqlPool } from "@holdfast/lock/mysql";
import { checkMysqlOptions } from "../../../src/stores/mysql/options.ts";
import { MysqlBackend } from "../../../src/stores/mysql/store.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { type ClientName, ignore, Place } from "./place.ts";

Place.serve();

/** Returns how often this server has prepared and executed statements. */
async function counted(): Promise<{ prepared: number; executed: number }> {
  const sql = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_stmt_execute', 'Com_stmt_prepare')";
  const [rows] = await Place.server.query(sql);
  const of = (name: string) => {
    return Number(
      (rows as unknown as Record<string, unknown>[]).find((row) => row["Variable_name"] === name)!["Value"],
    );
  };
  return { prepared: of("Com_stmt_prepare"), executed: of("Com_stmt_execute") };
}

/** Runs what sets how many statements the server may have prepared, which is put back. */
async function withMost(most: number, run: () => Promise<void>): Promise<void> {
  await Place.server.query(`SET GLOBAL max_prepared_stmt_count = ${most}`);
  try {
    await run();
  } finally {
    await Place.server.query("SET GLOBAL max_prepared_stmt_count = 16382");
  }
}

function test(name: string, fn: (place: Place) => Promise<void>): void {
  Deno.test({
    name,
    ignore,
    fn: async () => {
      await using place = await Place.open();
      await fn(place);
    },
  });
}

for (const client of ["mysql2", "mysql2 with callbacks", "mariadb"] satisfies ClientName[]) {
  const one = { connectionLimit: 1, namedPlaceholders: true };

  test(`mysql() over ${client} prepares few statements, and executes them`, async (place) => {
    const store = mysql(place.pool(client, one));
    await (await acquire(store, "first")).release();
    const before = await counted();
    for (let i = 0; i < 10; i++) {
      await using lock = await acquire(store, `é 名 \0 ${i % 5}`, { meta: { i: `${i}` } });
      await lock.extend(20_000);
    }
    const { prepared, executed } = await counted();
    // Ten grants, renewals and releases, and five reads, by statements that were prepared before.
    assertEquals([prepared - before.prepared, executed - before.executed], [0, 35]);
  });

  test(`MysqlBackend over ${client} executes once what cannot be prepared`, async (place) => {
    const pool = place.pool(client, one) as MysqlPool;
    const backend = new MysqlBackend(checkMysqlOptions(pool, {}).connections, "holdfast_locks");
    const first = await backend.write("a", "{}", undefined, {});
    assert(first.written);
    await place.query("CREATE TABLE noted (version BINARY(16))");
    await place.query(
      "CREATE TRIGGER note AFTER UPDATE ON holdfast_locks FOR EACH ROW INSERT INTO noted VALUES (NEW.version)",
    );
    let second: unknown;
    await withMost(0, async () => void (second = await backend.write("a", '{"a":1}', first.version, {})));
    const [row] = await place.query("SELECT COUNT(*) AS n, LOWER(HEX(MAX(version))) AS version FROM noted");
    assertEquals({ written: true, ...row }, { written: true, n: row!["n"], version: (second as typeof first).version });
    assertEquals(Number(row!["n"]), 1);
    // For good.
    const before = await counted();
    assertEquals((await backend.read("a")).value, '{"a":1}');
    assertEquals((await counted()).executed, before.executed);
  });

  test(`MysqlBackend over ${client} executes nothing else where it cannot prepare`, async (place) => {
    const pool = place.pool(client, one) as MysqlPool;
    const backend = new MysqlBackend(checkMysqlOptions(pool, {}).connections, "holdfast_locks");
    // It looks at the table.
    await backend.list(1);
    await place.query("CREATE TABLE victims (name VARBINARY(100))");
    const prepare = "INSERT INTO victims VALUES (UNHEX(?))";
    const lend = (pool as unknown as { promise?(): MysqlPool }).promise?.() ?? pool;
    const connection = await lend.getConnection() as { prepare(sql: string): Promise<unknown>; release(): unknown };
    await connection.prepare(prepare);
    await connection.release();
    await withMost(1, async () => assertEquals((await backend.read("a")).value, undefined));
    assertEquals(Number((await place.query("SELECT COUNT(*) AS n FROM victims"))[0]!["n"]), 0);
  });

  test(`MysqlBackend over ${client} executes nothing if lost while it prepares`, async (place) => {
    const writer = place.backend("mysql2");
    const first = await writer.write("a", "{}", undefined, {});
    assert(first.written);
    const backend = place.backend(client, { ...one, namedPlaceholders: false });
    await backend.list(1);
    const blocker = await mariadb.createConnection({ ...place.options });
    // Preparing a statement needs a lock on the definition of its table.
    await blocker.query("LOCK TABLES holdfast_locks WRITE");
    const lost = assertRejects(() => backend.write("a", '{"a":1}', first.version, {}), Error);
    const waits = `SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = '${place.database}' ` +
      "AND STATE LIKE 'Waiting for table%'";
    let id: unknown;
    await until(async () => (id = (await place.query(waits))[0]?.["id"]) !== undefined, "it prepares");
    await place.query(`KILL ${id}`);
    await lost;
    await blocker.query("UNLOCK TABLES");
    await blocker.end();
    assertEquals((await writer.read("a")).version, first.version);
    const before = await counted();
    let next: unknown;
    const write = () => backend.write("a", '{"a":2}', first.version, {}).catch(() => undefined);
    await until(async () => (next = await write()) !== undefined, "another connection");
    assertEquals((next as typeof first).written, true);
    // A lost connection says nothing of prepared statements.
    assert((await counted()).executed > before.executed);
  });

  test(`mysql() over ${client} goes on where the table is another one by then`, async (place) => {
    const store = mysql(place.pool(client, one));
    await (await acquire(store, "a")).release();
    await place.query("RENAME TABLE holdfast_locks TO old_locks; CREATE TABLE holdfast_locks LIKE old_locks");
    const lock = await acquire(store, "a", { wait: HANG_MS });
    assertEquals(await place.used(), ["a"]);
    await lock.release();
    await place.query("DROP TABLE holdfast_locks");
    await (await acquire(store, "b", { wait: HANG_MS })).release();
  });
}

test("mysql() takes the statements that its page counts", async (place) => {
  const [one, two] = [counting(place), counting(place)];
  const pair = async ({ store }: typeof one) => await (await acquire(store, "a")).release();
  for (const each of [one, two]) await (await acquire(each.store, "first")).release();
  const costs = async ({ sent }: typeof one, run: () => Promise<unknown>) => {
    sent.length = 0;
    await run();
    return sent.length;
  };
  assertEquals(await costs(one, () => pair(one)), 2 + 1, "the first for this name, and a release");
  assertEquals(await costs(one, () => pair(one)), 1 + 1);
  await pair(two);
  assertEquals(await costs(one, () => pair(one)), 3 + 1, "another store has written the row since");
  const lock = await acquire(one.store, "a");
  assertEquals(await costs(one, () => lock.extend(20_000)), 1);
  const waits = acquire(two.store, "a", { wait: HANG_MS });
  await until(
    async () => (await place.query("SELECT value FROM holdfast_locks WHERE value LIKE '%ticket%'")).length > 0,
    "it waits",
  );
  assertEquals(await costs(one, () => lock.extend(20_000)), 3, "somebody has queued meanwhile");
  await lock.release();
  await (await waits).release();
});

/** Makes a store, and counts the statements that it sends. */
function counting(place: Place) {
  const pool = place.pool("mysql2") as MysqlPool;
  const sent: number[] = [];
  const lend = pool.getConnection.bind(pool);
  pool.getConnection = () => (sent.push(sent.length), lend());
  return { store: mysql(pool), sent };
}
