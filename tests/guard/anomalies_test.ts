// Deno only: it starts servers.
/**
 * What a guarded transaction does that breaks the pattern of the docs, at each isolation level of each database. A
 * counter shows what is lost: two holders of one lock add one each, so it must say 2.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import { delay } from "@std/async";
import { LockLostError, StoreError } from "@holdfast/lock";
import { guard, type GuardedLock, type Transaction } from "@holdfast/lock/guard";
import { CLIENTS } from "./databases.ts";
import { isMissing, Place, serve } from "./place.ts";

serve();

/** All levels of each database, and the default one of MariaDB over its other client as well. */
const LEVELS = {
  "pg": ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"],
  "mysql2": ["REPEATABLE READ"],
  "mariadb": ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"],
} as const;

type Client = keyof typeof LEVELS;

/** What ends a transaction that would break the order; or what the counter says where none does. */
type Outcome = "serialization failure" | "lock wait" | "old snapshot" | "savepoint" | "lost" | number;

function lockOf(fence: bigint): GuardedLock {
  return { name: "a", fence, held: true, mode: "exclusive", permits: undefined };
}

/** One connection: its statements, and the transaction that `guard()` takes. */
interface Connection extends AsyncDisposable {
  readonly tx: Transaction;
  run(statement: string): Promise<unknown>;
  count(rest?: string): Promise<number>;
}

async function connect(client: Client, at: string): Promise<Connection> {
  switch (client) {
    case "pg": {
      const { default: pg } = await import("pg");
      const connection = new pg.Client(at);
      await connection.connect();
      return {
        tx: connection,
        run: (statement) => connection.query(statement),
        count: async (rest = "") => Number((await connection.query(`SELECT n FROM counter ${rest}`)).rows[0].n),
        [Symbol.asyncDispose]: () => connection.end(),
      };
    }
    case "mysql2": {
      const { createConnection } = await import("mysql2/promise");
      const connection = await createConnection(at);
      return {
        ...ofMysql(connection, (statement) => connection.query(statement).then(([rows]) => rows)),
        [Symbol.asyncDispose]: () => connection.end(),
      };
    }
    case "mariadb": {
      const { default: mariadb } = await import("mariadb");
      const connection = await mariadb.createConnection(at.replace("mysql:", "mariadb:"));
      return {
        ...ofMysql(connection, (statement) => connection.query(statement)),
        [Symbol.asyncDispose]: () => connection.end(),
      };
    }
  }
}

function ofMysql(connection: unknown, run: (statement: string) => Promise<unknown>): Omit<Connection, symbol> {
  return {
    tx: connection as Transaction,
    run,
    count: async (rest = "") => Number((await run(`SELECT n FROM counter ${rest}`) as [{ n: unknown }])[0].n),
  };
}

/** Begins a transaction of an isolation level. */
async function begin({ run }: Connection, client: Client, level: string, more = ""): Promise<void> {
  if (client === "pg") return void await run(`BEGIN ISOLATION LEVEL ${level}`);
  await run(`SET SESSION TRANSACTION ISOLATION LEVEL ${level}`);
  await run(`START TRANSACTION${more}`);
}

function outcomeOf(error: unknown): Outcome {
  const { code, errno } = error as { code?: unknown; errno?: unknown };
  if (code === "40001") return "serialization failure";
  if (errno === 1205 || code === "55P03") return "lock wait";
  if (error instanceof LockLostError) return "lost";
  if (error instanceof StoreError && !error.permanent && /snapshot is older/.test(error.message)) return "old snapshot";
  if (error instanceof TypeError && /savepoint/.test(error.message)) return "savepoint";
  throw error;
}

/** Two connections to a database with a counter. */
async function play(
  client: Client,
  run: (place: Place, a: Connection, b: Connection) => Promise<void>,
): Promise<Outcome> {
  await using place = await Place.open(client);
  const engine = CLIENTS[client] === "mysql" ? " ENGINE=InnoDB" : "";
  await place.database.query(`CREATE TABLE counter (n int NOT NULL)${engine}`);
  await place.database.query("INSERT INTO counter VALUES (0)");
  await using a = await connect(client, place.at);
  await using b = await connect(client, place.at);
  try {
    await run(place, a, b);
  } catch (error) {
    return outcomeOf(error);
  }
  return Number((await place.database.query("SELECT n FROM counter"))[0]);
}

/** Adds one to the counter in a guarded transaction that keeps to the pattern. */
async function addOne(connection: Connection, client: Client, level: string, lock: GuardedLock): Promise<void> {
  await begin(connection, client, level);
  await guard(connection.tx, lock);
  await connection.run("UPDATE counter SET n = n + 1");
  await connection.run("COMMIT");
}

function testEach(
  name: string,
  expected: Readonly<Record<string, Outcome>>,
  run: (at: { client: Client; level: string }) => Promise<Outcome>,
): void {
  for (const [client, levels] of Object.entries(LEVELS) as [Client, readonly string[]][]) {
    for (const level of levels) {
      Deno.test({
        name: `guard() over ${client} at ${level.toLowerCase()}: ${name}`,
        ignore: isMissing(client),
        fn: async () => assertEquals(await run({ client, level }), expected[`${CLIENTS[client]} ${level}`]),
      });
    }
  }
}

// Not protected where a statement sees what was committed before it began: the docs say so.
testEach("a plain read before guard()", {
  "postgres READ COMMITTED": 1,
  "postgres REPEATABLE READ": "serialization failure",
  "postgres SERIALIZABLE": "serialization failure",
  "mysql READ UNCOMMITTED": 1,
  "mysql READ COMMITTED": 1,
  "mysql REPEATABLE READ": "old snapshot",
  "mysql SERIALIZABLE": "lock wait",
}, ({ client, level }) =>
  play(client, async (_place, a, b) => {
    await begin(b, client, level);
    const read = await b.count();
    // At serializable it waits for the transaction that has read.
    if (client !== "pg") await a.run("SET SESSION innodb_lock_wait_timeout = 1");
    await addOne(a, client, level, lockOf(10n));
    await guard(b.tx, lockOf(20n));
    await b.run(`UPDATE counter SET n = ${read + 1}`);
    await b.run("COMMIT");
  }));

// The second transaction begins before the first one has committed, and waits for it in guard().
const GUARD_FIRST = {
  "postgres READ COMMITTED": 2,
  "postgres REPEATABLE READ": "serialization failure",
  "postgres SERIALIZABLE": "serialization failure",
  "mysql READ UNCOMMITTED": 2,
  "mysql READ COMMITTED": 2,
  "mysql REPEATABLE READ": 2,
  "mysql SERIALIZABLE": 2,
} as const;
for (const [what, rest] of [["a plain read", ""], ["FOR UPDATE, with a fence from before", "FOR UPDATE"]] as const) {
  testEach(`guard() first, then ${what}`, GUARD_FIRST, ({ client, level }) =>
    play(client, async (place, a, b) => {
      if (rest !== "") await addOne(a, client, level, lockOf(5n));
      await a.run("UPDATE counter SET n = 0");
      await begin(a, client, level);
      await guard(a.tx, lockOf(10n));
      await begin(b, client, level);
      const ended = guard(b.tx, lockOf(20n)).then(() => undefined, (error) => error);
      await untilOneWaits(place);
      const read = await a.count(rest);
      await a.run(`UPDATE counter SET n = ${read + 1}`);
      await a.run("COMMIT");
      const failed = await ended;
      if (failed !== undefined) throw failed;
      await b.run(`UPDATE counter SET n = ${await b.count(rest) + 1}`);
      await b.run("COMMIT");
    }));
}

/** Resolves when a connection waits for the lock of a row. */
async function untilOneWaits({ client, database }: Place): Promise<void> {
  const waiting = CLIENTS[client] === "postgres"
    ? "SELECT count(*)::int FROM pg_locks WHERE NOT granted"
    : "SELECT count(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'";
  // InnoDB answers from a copy, which it renews when nobody has read it for 0.1 s.
  while (Number((await database.query(waiting))[0]) === 0) await delay(150);
}

// One statement reads and writes: it needs no value from before.
testEach("one statement, behind a plain read before guard()", {
  ...GUARD_FIRST,
  "mysql REPEATABLE READ": "old snapshot",
  "mysql SERIALIZABLE": "lock wait",
}, ({ client, level }) =>
  play(client, async (_place, a, b) => {
    await begin(b, client, level);
    await b.count();
    if (client !== "pg") await a.run("SET SESSION innodb_lock_wait_timeout = 1");
    await addOne(a, client, level, lockOf(10n));
    await guard(b.tx, lockOf(20n));
    await b.run("UPDATE counter SET n = n + 1");
    await b.run("COMMIT");
  }));

// MySQL and MariaDB do not show a savepoint: not protected, as the docs say. The stale transaction writes 10 last.
const SAVEPOINT = {
  "postgres READ COMMITTED": "savepoint",
  "postgres REPEATABLE READ": "savepoint",
  "postgres SERIALIZABLE": "savepoint",
  "mysql READ UNCOMMITTED": 10,
  "mysql READ COMMITTED": 10,
  "mysql REPEATABLE READ": 10,
  "mysql SERIALIZABLE": 10,
} as const;
for (const before of [false, true]) {
  const name = `a savepoint that is rolled back${before ? ", with a fence from before" : ""}`;
  testEach(name, SAVEPOINT, ({ client, level }) =>
    play(client, async (_place, a, b) => {
      if (before) await addOne(a, client, level, lockOf(5n));
      await begin(a, client, level);
      await a.run("SAVEPOINT s");
      await guard(a.tx, lockOf(10n));
      await a.run("ROLLBACK TO SAVEPOINT s");
      await begin(b, client, level);
      await guard(b.tx, lockOf(20n));
      await b.run("UPDATE counter SET n = 20");
      await b.run("COMMIT");
      await a.run("UPDATE counter SET n = 10");
      await a.run("COMMIT");
    }));
}

for (const client of ["pg", "mysql2", "mariadb"] as const) {
  Deno.test({
    name: `guard() over ${client}: savepoints behind it, and released ones, do no harm`,
    ignore: isMissing(client),
    fn: async () => {
      const rolledBack = await play(client, async (place, a) => {
        await begin(a, client, LEVELS[client][0]);
        await a.run("SAVEPOINT s");
        await a.run("RELEASE SAVEPOINT s");
        await guard(a.tx, lockOf(10n));
        await a.run("UPDATE counter SET n = 1");
        await a.run("SAVEPOINT s");
        await a.run("UPDATE counter SET n = 2");
        await a.run("ROLLBACK TO SAVEPOINT s");
        await a.run("COMMIT");
        assertEquals((await place.database.query("SELECT fence FROM holdfast_guard")).map(Number), [10]);
      });
      assertEquals(rolledBack, 1);
    },
  });

  Deno.test({
    name: `guard() over ${client}: several locks, and one twice, in a transaction`,
    ignore: isMissing(client),
    fn: async () => {
      const outcome = await play(client, async (_place, a) => {
        await begin(a, client, LEVELS[client].at(-1)!);
        await guard(a.tx, lockOf(10n));
        await guard(a.tx, { ...lockOf(7n), name: "b" });
        await guard(a.tx, lockOf(10n));
        await a.run("UPDATE counter SET n = n + 1");
        await a.run("COMMIT");
      });
      assertEquals(outcome, 1);
    },
  });
}

const consistent = [["READ COMMITTED", 2], ["REPEATABLE READ", "old snapshot"], ["SERIALIZABLE", 2]] as const;
for (const client of ["mysql2", "mariadb"] as const) {
  for (const [level, expected] of consistent) {
    Deno.test({
      name: `guard() over ${client} at ${level.toLowerCase()}: first, WITH CONSISTENT SNAPSHOT`,
      ignore: isMissing(client),
      fn: async () => {
        const outcome = await play(client, async (_place, a, b) => {
          await begin(b, client, level, " WITH CONSISTENT SNAPSHOT");
          await addOne(a, client, level, lockOf(10n));
          await guard(b.tx, lockOf(20n));
          await b.run(`UPDATE counter SET n = ${await b.count() + 1}`);
          await b.run("COMMIT");
        });
        assertEquals(outcome, expected);
      },
    });
  }

  Deno.test({
    name: `guard() over ${client} rejects a stale transaction with an old snapshot`,
    ignore: isMissing(client),
    fn: async () => {
      const outcome = await play(client, async (_place, a, b) => {
        await addOne(a, client, "REPEATABLE READ", lockOf(5n));
        await begin(b, client, "REPEATABLE READ");
        await b.count();
        await addOne(a, client, "REPEATABLE READ", lockOf(20n));
        await guard(b.tx, lockOf(10n));
      });
      assertEquals(outcome, "lost");
    },
  });
}

for (const client of ["postgres.js", "pg", "pglite", "mysql2", "mysql2 with callbacks", "mariadb"] as const) {
  Deno.test({
    name: `guard() over ${client} leaves no fence behind outside a transaction`,
    ignore: isMissing(client),
    fn: async () => {
      await using place = await Place.open(client);
      for (const tx of await place.database.outside()) {
        await assertRejects(() => guard(tx as Transaction, lockOf(20n)), TypeError, "transaction");
      }
      const fences = await place.database.query("SELECT fence FROM holdfast_guard");
      // MySQL does not tell before it has written: the row says nothing then.
      assertEquals(fences.filter((fence) => Number(fence) !== 0), []);
      await place.database.transaction((tx) => guard(tx, lockOf(10n)));
    },
  });
}

Deno.test("guard() over node:sqlite: a savepoint that is rolled back keeps others out", async () => {
  await using place = await Place.open("node:sqlite");
  const { DatabaseSync } = await import("node:sqlite");
  using a = new DatabaseSync(place.at, { timeout: 10 } as object);
  using b = new DatabaseSync(place.at, { timeout: 10 } as object);
  for (const journal of ["DELETE", "WAL"]) {
    a.exec(`PRAGMA journal_mode = ${journal}`);
    a.exec("BEGIN");
    a.exec("SAVEPOINT s");
    await guard(a, lockOf(10n));
    a.exec("ROLLBACK TO s");
    b.exec("BEGIN");
    await assertRejects(() => guard(b, lockOf(20n)), Error, "database is locked");
    b.exec("ROLLBACK");
    a.exec("COMMIT");
  }
});

Deno.test("guard() over node:sqlite: a read before guard() fails once somebody has written", async () => {
  await using place = await Place.open("node:sqlite");
  const { DatabaseSync } = await import("node:sqlite");
  using a = new DatabaseSync(place.at, { timeout: 10 } as object);
  using b = new DatabaseSync(place.at, { timeout: 10 } as object);
  const add = async () => {
    a.exec("BEGIN");
    await guard(a, lockOf(10n));
    a.exec("COMMIT");
  };
  for (const [journal, loser] of [["DELETE", "writer"], ["WAL", "reader"]] as const) {
    a.exec(`PRAGMA journal_mode = ${journal}`);
    b.exec("BEGIN");
    b.prepare("SELECT count(*) FROM journal").get();
    if (loser === "writer") await assertRejects(add, Error, "database is locked");
    else await add();
    if (loser === "writer") a.exec("ROLLBACK");
    else await assertRejects(() => guard(b, lockOf(20n)), Error, "database is locked");
    b.exec("ROLLBACK");
  }
});
