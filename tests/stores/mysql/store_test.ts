// Deno only: it starts a server.
import mariadb from "mariadb";
import mysql2 from "mysql2";
import { createPool } from "mysql2/promise";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { acquire, StoreError, tryAcquire } from "@holdfast/lock";
import { mysql, type MysqlPool } from "@holdfast/lock/mysql";
import { checkMysqlOptions } from "../../../src/stores/mysql/options.ts";
import { MysqlBackend } from "../../../src/stores/mysql/store.ts";
import { assertKeepsAll, backendSuite } from "../../engine/backend_suite.ts";
import { MariadbServer } from "../../support/mariadb_server.ts";
import { inTime } from "../../support/in_time.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { type ClientName, CLIENTS, ended, Place, test } from "./place.ts";
import { cohort } from "@holdfast/lock/cohort";
import { assertEndsAtOnce } from "../../handoff/objects.ts";
import { refused } from "../../support/refused.ts";

Place.serve();

/** Longer than any test, in milliseconds. */
const LEASE = 120_000;

const EVERY_CLIENT = Object.keys(CLIENTS) as ClientName[];

test("mysql() throws for what is no pool, and says to pass the pool", async (place) => {
  for (const wrong of [undefined, null, "mysql://localhost", {}, { query: () => {} }, mysql2.createPoolCluster()]) {
    assertThrows(
      () => mysql(wrong as never),
      TypeError,
      "pool must be a pool of mysql2 or of mariadb, as createPool()",
    );
  }
  const pools = [
    createPool(place.options),
    mysql2.createPool(place.options),
    mariadb.createPool(place.options),
  ] as const;
  const connections = [
    await pools[0].getConnection(),
    (await pools[0].getConnection()).connection,
    await pools[2].getConnection(),
  ];
  for (const connection of connections) {
    assertThrows(() => mysql(connection as never), TypeError, "Pass the pool");
  }
  assertThrows(() => mysql(new Proxy(pools[2], {}) as never), TypeError, "got a Proxy whose get() does not bind");
  for (const connection of connections) (connection as { release(): void }).release();
  for (const pool of pools) await ended(pool);
});

Deno.test("mysql() throws for a wrong option", () => {
  const pool = { query: () => {}, releaseConnection: () => {} } as never;
  assertThrows(() => mysql(pool, { schema: "a" } as never), TypeError, '"schema": known are table');
  assertThrows(() => mysql(pool, { table: 7 as never }), TypeError, "table must be a string: got 7");
  for (const table of ["", "a".repeat(65), "a ", "a\0", "\u{1f512}"]) {
    assertThrows(() => mysql(pool, { table }), RangeError, "table must be the name of a table");
  }
  assertThrows(() => mysql(pool, { maxClockSkew: -1 }), RangeError, "maxClockSkew");
  assertThrows(() => mysql(pool, { observer: 7 as never }), TypeError, "observer");
});

for (const client of EVERY_CLIENT) {
  test(`mysql() over ${client} leaves no connection when its pool has ended`, async (place) => {
    const pool = place.pool(client);
    const store = mysql(pool);
    const lock = await acquire(store, "a");
    const waiting = acquire(store, "a", { wait: 100, owner: "b" });
    await assertRejects(() => waiting, Error, "Cannot acquire");
    await lock.release();
    // A call that gives up waits for a second at most until its place is given up.
    await until(async () => (await place.used()).length === 0, "nothing is left");
    await ended(pool);
    await until(async () => await place.connections() === 0, "no connection is left");
  });

  test(`acquire() over ${client} rejects when the pool has ended, also while it waits`, async (place) => {
    const pool = place.pool(client);
    const store = mysql(pool);
    // The end of the test waits for its end; until then it must last.
    const lock = await acquire(store, "a", { lease: 5_000 });
    const waiting = acquire(store, "a", { owner: "b" });
    await until(async () => (await store.query()).pending.length === 1, "it waits");
    await Promise.all([ended(pool), assertRejects(() => waiting, StoreError, "The pool is closed")]);
    await refused(() => tryAcquire(store, "b"), "The pool is closed");
    assertEquals(store.closed, true);
    await until(() => !lock.held, "its lease has ended");
  });
}

for (
  const options of [
    { rowsAsArray: true, bigNumberStrings: true, supportBigNumbers: true, dateStrings: true },
    { nestTables: true, metaAsArray: true },
    { typeCast: () => "no value" },
    { charset: "LATIN1_SWEDISH_CI", timezone: "+03:00" },
    { multipleStatements: true, bigIntAsNumber: true, insertIdAsNumber: true, foundRows: false },
    { flags: "-FOUND_ROWS" },
  ]
) {
  for (const client of ["mysql2", "mariadb"] satisfies ClientName[]) {
    test(`mysql() does not mind a pool of ${client} with ${Object.keys(options)}`, async (place) => {
      const [pool, plain] = [place.pool(client, options), place.pool()];
      await using lock = await acquire(mysql(pool), "ä€🔒", { lease: 3_600_000, meta: { text: "ü€🔒" }, wait: 0 });
      assertEquals(await tryAcquire(mysql(plain), "ä€🔒"), null);
      const [entry] = (await mysql(plain).query()).held;
      assertEquals([entry?.name, entry?.meta?.["text"], entry?.fence], ["ä€🔒", "ü€🔒", lock.fence]);
      assert(Math.abs(entry!.expiresIn! - 3_600_000) < 60_000, `${entry!.expiresIn} ms`);
    });
  }
}

const MODES = ["", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES,PIPES_AS_CONCAT", "ORACLE", "EMPTY_STRING_IS_NULL"];

for (const mode of MODES) {
  for (const client of ["mysql2", "mariadb"] satisfies ClientName[]) {
    test(`MysqlBackend over ${client} keeps every text with sql_mode "${mode}"`, async (place) => {
      const { server } = Place;
      const [[row]] = await server.query("SELECT @@GLOBAL.sql_mode AS mode");
      await server.query(`SET GLOBAL sql_mode = '${mode}'`);
      try {
        await assertKeepsAll(place.backend(client));
      } finally {
        await server.query(`SET GLOBAL sql_mode = '${row!["mode"]}'`);
      }
    });
  }
}

test("mysql() keeps the locks of other tables apart, whatever their names", async (place) => {
  const pool = place.pool();
  for (const table of ["holdfast_locks", "`; DROP TABLE holdfast_locks; --", "Ä'\"\\", "a".repeat(64), "select"]) {
    const store = mysql(pool, { table });
    const lock = await acquire(store, "a", { wait: 0 });
    assertEquals((await store.query()).held.length, 1);
    await lock.extend(10_000);
    const rows = await place.query(`SELECT COUNT(*) AS n FROM \`${table.replaceAll("`", "``")}\``);
    assertEquals(Number(rows[0]!["n"]), 1);
    await lock.release();
  }
});

test("mysql() is not misled by names that a collation takes for the same", async (place) => {
  const other = `${place.database.toUpperCase()}`;
  await place.query(`CREATE DATABASE ${other}; CREATE TABLE ${other}.holdfast_locks (a INT)`);
  await place.query("CREATE TABLE Holdfast_Locks (a INT) ENGINE=MyISAM; CREATE TABLE `hôldfast_locks` (a INT)");
  try {
    const store = mysql(place.pool());
    for (let i = 0; i < 2; i++) await (await acquire(store, "a", { wait: 0 })).release();
    await (await acquire(mysql(place.pool()), "a", { wait: 0 })).release();
  } finally {
    await place.query(`DROP DATABASE ${other}`);
  }
});

test("MysqlBackend takes what is no reply to its statement for no answer", async (place) => {
  const { connections } = checkMysqlOptions(place.pool() as MysqlPool, {});
  let reply: unknown;
  const run = async (sql: string) => {
    const answer = await connections.run(sql);
    return reply === undefined ? answer : reply;
  };
  const backend = new MysqlBackend({ run, lateBecause: undefined }, "holdfast_locks");
  const write = await backend.write("a", "one", undefined, {});
  assert(write.written);
  for (reply of [null, [], {}, [[1]], { affectedRows: 2 }, "OK"]) {
    for (
      const call of [
        () => backend.write("a", "two", write.version, {}),
        () => backend.remove([{ key: "a", version: write.version }]),
      ]
    ) {
      const error = await assertRejects(call, Error, "what is no reply to the statement");
      assert(!(error instanceof StoreError) && !(error instanceof TypeError));
    }
  }
  reply = [];
  await assertRejects(() => backend.read("a"), Error, "what is no reply to the statement");
});

for (const client of ["mysql2", "mariadb"] satisfies ClientName[]) {
  backendSuite<string | undefined>((what, run) => {
    test(`MysqlBackend over ${client} ${what}`, (place) => run(() => place.backend(client)));
  });

  test(`MysqlBackend over ${client} gives the server's time with each read and write`, async (place) => {
    await Place.server.query("SET GLOBAL time_zone = '+05:30'");
    const backend = place.backend(client);
    await backend.read("a");
    const replies = [];
    const before = Date.now();
    const first = await backend.write("a", "one", undefined, {});
    assert(first.written);
    const second = await backend.write("a", "two", first.version, { notBefore: before - 60_000 });
    const { documents } = await backend.list(1, undefined);
    replies.push(first, second, await backend.read("a"), await backend.read("b"), documents[0]!);
    const after = Date.now();
    for (const reply of replies as readonly { readonly time?: number }[]) {
      // They have the same clock here.
      assert(reply.time! >= before - 1 && reply.time! <= after + 1, `${reply.time} from ${before} to ${after}`);
    }
    await Place.server.query("SET GLOBAL time_zone = 'SYSTEM'");
  });
}

test("MysqlBackend.write() is refused when it is too early by the server's clock", async (place) => {
  const backend = place.backend();
  const { version } = await backend.write("a", "one", undefined, {}) as { readonly version: string };
  const { time } = await backend.read("a");
  assertEquals(await backend.write("a", "two", version, { notBefore: time! + 60_000 }), { written: false });
  assertEquals((await backend.write("a", "two", version, { notBefore: time! })).written, true);
});

test("MysqlBackend.list() goes on behind a name that is no UTF-8", async (place) => {
  const backend = place.backend();
  await backend.write("a", "{}", undefined, {});
  const row = "(name, version, value) VALUES (x'ff', REPEAT('v', 16), '{}')";
  await Place.server.query(`INSERT INTO ${place.database}.holdfast_locks ${row}`);
  const keys: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await backend.list(1, cursor);
    keys.push(...page.documents.map(({ key }) => key));
    cursor = page.cursor;
  } while (cursor !== undefined && keys.length < 5);
  assertEquals(keys, ["a", "\ufffd"]);
});

test("MysqlBackend.list() rejects a cursor that it has not returned", async (place) => {
  for (const cursor of ["a", "0g"]) {
    await assertRejects(() => place.backend().list(2, cursor), RangeError, "cursor must be one that query() has");
  }
});

for (const level of ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", "snapshot"]) {
  test(`MysqlBackend.write() is refused for one of two at a time, at ${level}`, async (place) => {
    const [set, reset] = level === "snapshot"
      ? ["SET GLOBAL innodb_snapshot_isolation = ON", "SET GLOBAL innodb_snapshot_isolation = OFF"]
      : [`SET GLOBAL TRANSACTION ISOLATION LEVEL ${level}`, "SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ"];
    await Place.server.query(set);
    try {
      const backends = [place.backend("mysql2"), place.backend("mariadb"), place.backend("mysql2")];
      let version: string | undefined;
      for (let round = 0; round < 100; round++) {
        const results = await Promise.all(backends.map((backend, i) => backend.write("a", `${i}`, version, {})));
        assertEquals(results.filter(({ written }) => written).length, 1, `round ${round}`);
        const winner = results.findIndex(({ written }) => written);
        const found = await backends[0]!.read("a");
        assertEquals(found.value, `${winner}`);
        version = found.version;
        if (round % 10 !== 9) continue;
        assertEquals(await backends[1]!.remove([{ key: "a", version: version }]), 1);
        version = undefined;
      }
    } finally {
      await Place.server.query(reset);
    }
  });
}

test("MysqlBackend.write() does not wait for long for somebody's transaction", async (place) => {
  const backend = place.backend();
  const { version } = await backend.write("a", "one", undefined, {}) as { readonly version: string };
  const other = await mysql2.createPool(place.options).promise().getConnection();
  await other.beginTransaction();
  await other.query("SELECT * FROM holdfast_locks FOR UPDATE");
  // The server itself waits for 50 s.
  const refused = await inTime(backend.write("a", "two", version, {}), 40_000, "a write that does not wait");
  assertEquals(refused, { written: false });
  await other.rollback();
  assertEquals((await backend.write("a", "two", version, {})).written, true);
  await other.connection.end();
});

for (const errno of [1290, 1792, 1836]) {
  test(`MysqlBackend.write() takes error ${errno} for a server that only reads`, async (place) => {
    const backend = place.backend();
    const { version } = await backend.write("a", "one", undefined, {}) as { readonly version: string };
    const fails = `SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = ${errno}`;
    await place.query(`CREATE TRIGGER fails BEFORE UPDATE ON holdfast_locks FOR EACH ROW ${fails}`);
    await assertRejects(() => backend.write("a", "two", version, {}), StoreError, "The server only reads");
  });
}

test("MysqlBackend.list() makes the table, and a plain server has one clock", async (place) => {
  const backend = place.backend();
  assertEquals(await backend.list(10, undefined), { documents: [], cursor: undefined });
  assertEquals(backend.severalClocks, false);
});

test("MysqlBackend.onClosed() calls a function once, unless that was cancelled", async (place) => {
  const pool = place.pool();
  const backend = new MysqlBackend(checkMysqlOptions(pool, {}).connections, "holdfast_locks");
  const calls: string[] = [];
  backend.onClosed(() => calls.push("one"));
  backend.onClosed(() => calls.push("cancelled"))();
  await ended(pool);
  for (let i = 0; i < 2; i++) await assertRejects(() => backend.read("a"), StoreError, "closed");
  assertEquals([calls, backend.closed], [["one"], true]);
});

for (const errno of [1020, 1205, 1213, 3101]) {
  test(`MysqlBackend.write() takes error ${errno} of the server as a conflict`, async (place) => {
    const backend = place.backend();
    const { version } = await backend.write("a", "one", undefined, {}) as { readonly version: string };
    const fails = `SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = ${errno}`;
    await place.query(`CREATE TRIGGER fails BEFORE UPDATE ON holdfast_locks FOR EACH ROW ${fails}`);
    assertEquals(await backend.write("a", "two", version, {}), { written: false });
  });
}

test("acquire() rejects where autocommit is off, and holds nothing", async (place) => {
  await acquire(mysql(place.pool()), "b").then((lock) => lock.release());
  await Place.server.query("SET GLOBAL autocommit = OFF");
  try {
    for (const client of EVERY_CLIENT) {
      // This client turns it on by itself.
      const options = client === "mariadb" ? { initSql: "SET autocommit = 0" } : {};
      await refused(() => acquire(mysql(place.pool(client, options)), "a"), "autocommit is off");
    }
  } finally {
    await Place.server.query("SET GLOBAL autocommit = ON");
  }
  assertEquals(await place.used(), []);
});

for (const client of ["mysql2", "mariadb"] satisfies ClientName[]) {
  const options = { connectionLimit: 1, noControlAfterUse: true };

  test(`MysqlBackend over ${client} writes nothing once autocommit was turned off`, async (place) => {
    const pool = place.pool(client, options) as MysqlPool;
    const store = mysql(pool);
    const lock = await acquire(store, "a");
    await pool.query({ sql: "SET autocommit = 0" } as never);
    await assertRejects(() => lock.extend(20_000), Error, "autocommit is off");
    await assertRejects(() => acquire(store, "b"), StoreError, "autocommit is off");
    assertEquals(await place.used(), ["a"]);
    await pool.query({ sql: "SET autocommit = 1" } as never);
    await lock.release();
  });

  test(`MysqlBackend over ${client} writes nothing in a transaction that was left open`, async (place) => {
    const pool = place.pool(client, options) as MysqlPool;
    const store = mysql(pool);
    const lock = await acquire(store, "a");
    await pool.query({ sql: "BEGIN" } as never);
    await assertRejects(() => lock.extend(20_000), Error, "open transaction");
    await assertRejects(() => tryAcquire(store, "b"), StoreError, "open transaction");
    assertEquals(await place.used(), ["a"]);
    await pool.query({ sql: "COMMIT" } as never);
    await lock.release();
    assertEquals(await place.used(), []);
  });
}

test("MysqlBackend does not say that nothing was done in a transaction of MySQL", async (place) => {
  const { connections } = checkMysqlOptions(place.pool("mysql2", { connectionLimit: 1 }) as MysqlPool, {});
  const run = (sql: string) => connections.run(sql.replace(/\/\*M!.*?\*\//g, ""));
  // What MariaDB alone executes is a comment to MySQL.
  const backend = new MysqlBackend({ run, lateBecause: undefined }, "holdfast_locks");
  await backend.read("a");
  await run("BEGIN");
  const error = await assertRejects(() => backend.write("a", "{}", undefined, {}), Error, "open transaction");
  assert(!(error instanceof StoreError));
  await run("COMMIT");
  assertEquals((await backend.read("a")).value, "{}");
});

const OTHER_TABLES: Readonly<Record<string, readonly [create: string, says: string]>> = {
  "of MyISAM": [
    "CREATE TABLE holdfast_locks (name VARBINARY(900) PRIMARY KEY, version BINARY(16), value LONGTEXT) ENGINE=MyISAM",
    "its engine is MyISAM",
  ],
  "of Aria, else the same": [
    "CREATE TABLE holdfast_locks (name VARBINARY(1024) PRIMARY KEY, version BINARY(16), value LONGTEXT) ENGINE=Aria",
    "its engine is Aria",
  ],
  "with other columns": ["CREATE TABLE holdfast_locks (id INT PRIMARY KEY)", "it has other columns: id int(11)"],
  "with short names": [
    "CREATE TABLE holdfast_locks (name VARBINARY(64) NOT NULL PRIMARY KEY, version BINARY(16) NOT NULL, " +
    "value LONGTEXT CHARACTER SET utf8mb4 NOT NULL)",
    "it has other columns: name varbinary(64)",
  ],
  "without a key": [
    "CREATE TABLE holdfast_locks (name VARBINARY(1024) NOT NULL, version BINARY(16) NOT NULL, " +
    "value LONGTEXT CHARACTER SET utf8mb4 NOT NULL)",
    "it has other columns: name varbinary(1024)",
  ],
  "with a second key": [
    "CREATE TABLE holdfast_locks (name VARBINARY(1024) NOT NULL PRIMARY KEY, version BINARY(16) NOT NULL UNIQUE, " +
    "value LONGTEXT CHARACTER SET utf8mb4 NOT NULL)",
    "it has other columns: version binary(16) UNI",
  ],
  "that is a view": ["CREATE VIEW holdfast_locks AS SELECT 1 AS name", "its engine is null"],
};

for (const [kind, [create, says]] of Object.entries(OTHER_TABLES)) {
  test(`acquire() refuses a table ${kind}`, async (place) => {
    await place.query(create);
    await refused(() => acquire(mysql(place.pool()), "a"), [says, "CREATE TABLE IF NOT EXISTS `holdfast_locks`"]);
  });
}

/** Makes a user, and returns the options of its connections. */
async function user(place: Place, rights: string): Promise<object> {
  const name = `${place.database}_user`;
  await place.query(`CREATE USER ${name}@'127.0.0.1'; GRANT ${rights} ON ${place.database}.* TO ${name}@'127.0.0.1'`);
  return { user: name };
}

test("acquire() of a user who may not create the table names the statement to run", async (place) => {
  const store = mysql(place.pool("mysql2", await user(place, "SELECT, INSERT, UPDATE, DELETE")));
  await refused(() => acquire(store, "a"), ["CREATE TABLE IF NOT EXISTS", "CREATE command denied"]);
  await acquire(mysql(place.pool()), "b").then((lock) => lock.release());
  await acquire(store, "a").then((lock) => lock.release());
});

test("acquire() of a user who may not write names the rights", async (place) => {
  await acquire(mysql(place.pool()), "b").then((lock) => lock.release());
  const store = mysql(place.pool("mariadb", await user(place, "SELECT")));
  await refused(() => acquire(store, "a"), ["GRANT SELECT, INSERT, UPDATE, DELETE ON", "INSERT command denied"]);
  assertEquals(await place.used(), []);
});

test("acquire() rejects at once for a wrong password and for no such database", async (place) => {
  for (const client of EVERY_CLIENT) {
    for (const wrong of [{ user: "nobody", password: "x" }, { database: "nowhere" }]) {
      const options = { ...wrong, acquireTimeout: 1_000 };
      await refused(() => acquire(mysql(place.pool(client, options)), "a"));
    }
  }
});

test("acquire() rejects where no database is chosen", async (place) => {
  const pool = place.pool("mysql2", { database: undefined });
  await refused(() => acquire(mysql(pool), "a"), "No database selected");
});

test("tryAcquire() on a server that only reads says so, and holds nothing", async (place) => {
  const owner = mysql(place.pool());
  await acquire(owner, "b").then((lock) => lock.release());
  const store = mysql(place.pool("mysql2", await user(place, "ALL")));
  await Place.server.query("SET GLOBAL read_only = ON");
  try {
    await refused(() => tryAcquire(store, "a"), "The server only reads", false);
  } finally {
    await Place.server.query("SET GLOBAL read_only = OFF");
  }
  assertEquals(await place.used(), []);
  await using lock = await acquire(store, "a");
  assert(lock.held);
});

test("acquire() makes the table again after it was dropped", async (place) => {
  const store = mysql(place.pool());
  await acquire(store, "a").then((lock) => lock.release());
  await place.query("DROP TABLE holdfast_locks");
  await acquire(store, "a").then((lock) => lock.release());
  assertEquals(await place.used(), []);
});

test("acquire() of many stores at once makes the table once", async (place) => {
  const stores = Array.from({ length: 12 }, () => mysql(place.pool()));
  await Promise.all(stores.map(async (store, i) => await (await acquire(store, `${i}`)).release()));
  assertEquals(await place.used(), []);
});

test("write() over mysql2 takes no row of another result for its reply", async (place) => {
  const pool = createPool({ ...place.options, connectionLimit: 1 });
  const backend = new MysqlBackend(checkMysqlOptions(pool, {}).connections, "holdfast_locks");
  assert((await backend.write("a", "{}", undefined, {})).written);
  // Rows that arrive one by one, and look like a reply that says that one row was changed.
  const row = "SELECT '' AS a, '1' AS b, 'en' AS c, REPEAT('x', 300000) AS d";
  const typeCast = () => {
    throw new Error("a mistake of the user");
  };
  for (let i = 0; i < 10; i++) {
    const mistaken = pool.query({ sql: `${row} UNION ALL ${row} UNION ALL ${row}`, typeCast }).catch(() => {});
    const refused = backend.write("a", "{}", "0".repeat(32), {}).catch(() => undefined);
    await mistaken;
    assert(!(await refused)?.written, "a write was accepted that the server has refused");
  }
  await ended(pool);
});

test("acquire() keeps a lock over the death of the server, a dead holder does not", async () => {
  await using server = await MariadbServer.start(["--innodb-flush-log-at-trx-commit=1"]);
  const pools = [createPool(server.options), createPool(server.options)];
  const [holding, other] = pools.map((pool) => mysql(pool));
  const lock = await acquire(holding!, "a", { lease: LEASE });
  const dead = await acquire(mysql(pools[0]!), "b", { lease: 1_500, renew: false, strict: false });
  await server.kill();
  await server.start();
  assertEquals(await tryAcquire(other!, "a"), null);
  await lock.extend(LEASE);
  const started = performance.now();
  const next = await acquire(other!, "b", { wait: HANG_MS });
  assert(next.fence > dead.fence, `${next.fence} after ${dead.fence}, ${performance.now() - started} ms`);
  await next.release();
  await lock.release();
  for (const pool of pools) await pool.end();
});

test("steal and evict() end at once what any mysql() of the same pool hands on", async (place) => {
  const pool = place.pool() as MysqlPool;
  await using made = cohort(mysql(pool), { keep: 60_000 });
  await assertEndsAtOnce([["mysql()", mysql(pool)], ["a cohort of another one", made]], mysql(pool));
});
