// Deno only: it starts servers.
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import pg from "pg";
import connect from "postgres";
import { acquire, StoreError, tryAcquire } from "@holdfast/lock";
import { postgres, type PostgresClient } from "@holdfast/lock/postgres";
import { runPostgres } from "../../../src/internal/sql/postgres_client.ts";
import { inTime } from "../../support/in_time.ts";
import { PostgresServer } from "../../support/postgres_server.ts";
import { refused } from "../../support/refused.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { connectWith, LIBRARIES, newSchema, pglite, type TestClient } from "./clients.ts";
import { sharedServer } from "./shared_server.ts";

const { server, test } = await sharedServer();

/** How long a caller waits whose store answers that it cannot, in milliseconds. */
const WAIT_MS = 1_000;

/** Acquires, which must be refused with these words. If it is repaired then, the same store works. */
async function refusal(
  client: PostgresClient,
  schema: string,
  says: string | readonly string[],
  { permanent = true, repair }: { readonly permanent?: boolean; readonly repair?: () => Promise<unknown> } = {},
): Promise<StoreError> {
  const store = postgres(client, { schema });
  const error = await refused(() => acquire(store, "a", { wait: WAIT_MS }), says, permanent);
  if (repair !== undefined) {
    await repair();
    await (await acquire(store, "a", { wait: HANG_MS })).release();
  }
  return error;
}

/** Makes a schema and a user who may do what is granted, and connects as that user. */
async function asUser(admin: TestClient, grants: (schema: string, user: string) => readonly string[]) {
  const schema = await newSchema(admin.client);
  const user = `user_${schema}`;
  for (const statement of [`CREATE ROLE ${user} LOGIN`, ...grants(schema, user)]) {
    await runPostgres(admin.client, statement);
  }
  return { schema, user, connected: connectWith("pg", server().urlOf(user)) };
}

/** Runs the statements that an error names, as an administrator does. */
async function obey(admin: TestClient, { message }: StoreError): Promise<void> {
  const [, statements] = message.match(/[Rr]un: (.+)$/) ?? [];
  assert(statements !== undefined, `it names no statement: ${message}`);
  for (const statement of statements.split("; ")) await runPostgres(admin.client, statement);
}

async function works(client: PostgresClient, schema: string): Promise<void> {
  await (await acquire(postgres(client, { schema }), "a", { wait: HANG_MS })).release();
}

for (const library of LIBRARIES) {
  test(`acquire() over ${library} rejects at once without its schema`, async () => {
    await using admin = connectWith(library, server().url);
    const schema = `missing ${library}`;
    await obey(admin, await refusal(admin.client, schema, "there is no schema"));
    await works(admin.client, schema);
  });
}

test("acquire() names what to run where the user lacks a right", async () => {
  await using admin = connectWith("pg", server().url);
  const { schema, connected } = await asUser(admin, () => []);
  await using user = connected;
  for (const says of ["may not use the schema", "may not make it"]) {
    await obey(admin, await refusal(user.client, schema, says));
  }
  await works(user.client, schema);
  await runPostgres(admin.client, `REVOKE UPDATE ON ${schema}.holdfast_locks FROM user_${schema}`);
  await obey(admin, await refusal(user.client, schema, "may not write to it"));
  await works(user.client, schema);
});

test("acquire() needs no right to make a table that is there", async () => {
  await using admin = connectWith("pg", server().url);
  const { schema, connected } = await asUser(admin, (schema, user) => [`GRANT USAGE ON SCHEMA ${schema} TO ${user}`]);
  await using user = connected;
  await works(admin.client, schema);
  await runPostgres(
    admin.client,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ${schema}.holdfast_locks TO user_${schema}`,
  );
  await works(user.client, schema);
});

/** Tables that are of no use. */
const TABLES: Readonly<Record<string, readonly [sql: string, words: string]>> = {
  "UNLOGGED": [
    "CREATE UNLOGGED TABLE % (name bytea PRIMARY KEY, value text NOT NULL, version uuid NOT NULL)",
    "UNLOGGED",
  ],
  "of another layout": ["CREATE TABLE % (name text PRIMARY KEY, owner text)", "another layout (name text not null"],
  "with a column more": [
    "CREATE TABLE % (name bytea PRIMARY KEY, value text NOT NULL, version uuid NOT NULL, more int NOT NULL)",
    "another layout",
  ],
  "without a key": ["CREATE TABLE % (name bytea NOT NULL, value text NOT NULL, version uuid NOT NULL)", "not unique"],
};

for (const [what, [sql, words]] of Object.entries(TABLES)) {
  test(`acquire() rejects at once where the table is ${what}, and names what to run`, async () => {
    await using admin = connectWith("postgres.js", server().url);
    const schema = await newSchema(admin.client);
    await runPostgres(admin.client, sql.replace("%", `${schema}.holdfast_locks`));
    await obey(admin, await refusal(admin.client, schema, words));
    await works(admin.client, schema);
  });
}

test("acquire() rejects at once where the table is a view", async () => {
  await using admin = connectWith("postgres.js", server().url);
  const schema = await newSchema(admin.client);
  await runPostgres(admin.client, `CREATE VIEW ${schema}.holdfast_locks AS SELECT 1`);
  await refusal(admin.client, schema, "no ordinary table");
});

test("acquire() makes a table anew that was dropped", async () => {
  await using admin = connectWith("pg", server().url);
  const schema = await newSchema(admin.client);
  const store = postgres(admin.client, { schema });
  await (await acquire(store, "a")).release();
  await runPostgres(admin.client, `DROP TABLE ${schema}.holdfast_locks`);
  await (await acquire(store, "a", { wait: HANG_MS })).release();
});

test("acquire() in many processes at once makes one table", async () => {
  await using admin = connectWith("pg", server().url);
  const schema = await newSchema(admin.client);
  const clients = Array.from({ length: 8 }, (_, i) => connectWith(LIBRARIES[i % 2]!, server().url));
  try {
    await Promise.all(clients.map(async ({ client }, i) => {
      await (await acquire(postgres(client, { schema }), `a ${i}`, { wait: HANG_MS })).release();
    }));
  } finally {
    for (const client of clients) await client[Symbol.asyncDispose]();
  }
});

test("acquire() on a read-only server, and on a standby, rejects with what it says", async () => {
  await using admin = connectWith("pg", server().url);
  const schema = await newSchema(admin.client);
  await works(admin.client, schema);
  await using readOnly = connectWith("pg", server().url, { "default_transaction_read_only": "on" });
  await refusal(readOnly.client, schema, ["pass a client of the primary", "read-only"], { permanent: false });
  await using standby = await PostgresServer.start();
  await standby.follow(server());
  await using connected = connectWith("postgres.js", standby.url);
  await until(async () => {
    const found = `SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE nspname = '${schema}'`;
    return (await runPostgres(connected.client, found)).length > 0;
  }, "the standby has the table");
  await refusal(connected.client, schema, "a standby, which takes no writes: pass", { permanent: false });
  assertEquals((await postgres(admin.client, { schema }).query()).held, []);
});

for (const library of LIBRARIES) {
  test(`acquire() over ${library} rejects once the client is closed`, async () => {
    await using admin = connectWith("pg", server().url);
    const schema = await newSchema(admin.client);
    const connected = connectWith(library, server().url);
    const store = postgres(connected.client, { schema });
    const other = postgres(admin.client, { schema });
    await using _lock = await acquire(other, "a");
    const waiting = acquire(store, "a").catch((error: unknown) => error);
    await until(async () => (await other.query()).pending.length === 1, "it waits");
    await connected[Symbol.asyncDispose]();
    const error = await inTime(waiting, HANG_MS, "a waiter that is told");
    assert(error instanceof StoreError && error.permanent && error.message.includes("is closed"), `${error}`);
    await refused(() => tryAcquire(store, "b"), "is closed");
    assertEquals(store.closed, true);
  });
}

test("acquire() rejects where a connection of the pool is in a transaction", async () => {
  await using admin = connectWith("pg", server().url);
  const schema = await newSchema(admin.client);
  await works(admin.client, schema);
  const pool = new pg.Pool({ connectionString: server().url, max: 1 });
  try {
    const connection = await pool.connect();
    await connection.query("BEGIN");
    connection.release();
    const repair = () => pool.query("ROLLBACK");
    await refusal(pool, schema, "would undo the lock: end each one", { permanent: false, repair });
  } finally {
    await pool.end();
  }
  assertEquals((await postgres(admin.client, { schema }).query()).held, []);
});

test("acquire() rejects where the connection is in a transaction that has failed", async () => {
  await using admin = connectWith("pg", server().url);
  const schema = await newSchema(admin.client);
  await works(admin.client, schema);
  const client = new pg.Client(server().url);
  await client.connect();
  try {
    await client.query("BEGIN");
    await client.query("SELECT 1 / 0").catch(() => {});
    const passed: PostgresClient = { query: (text) => client.query(text) };
    const repair = () => client.query("ROLLBACK");
    await refusal(passed, schema, "that has failed: end each one", { permanent: false, repair });
  } finally {
    await client.end();
  }
  assertEquals((await postgres(admin.client, { schema }).query()).held, []);
});

test("postgres() throws for a connection and for a transaction, and says what to pass", async () => {
  const sql = connect(server().url, { max: 2 });
  const pool = new pg.Pool({ connectionString: server().url });
  await using database = pglite();
  const [client, borrowed] = [new pg.Client(server().url), await pool.connect()];
  const reserved = await sql.reserve();
  try {
    const throws = (given: unknown, words: string) => {
      assertThrows(() => postgres(given as PostgresClient), TypeError, words);
    };
    throws(client, "Pass the Pool");
    throws(borrowed, "Pass the Pool");
    throws(reserved, "Pass sql itself");
    await sql.begin(async (transaction) => await throws(transaction, "Pass sql itself"));
    const { transaction } = database.client as unknown as {
      transaction(run: (transaction: unknown) => Promise<void>): Promise<void>;
    };
    await transaction.call(database.client, async (each) => await throws(each, "Pass the PGlite"));
    for (const other of [undefined, null, {}, "postgres://a", () => {}, connect]) throws(other, "client must be sql");
  } finally {
    reserved.release();
    borrowed.release();
    await Promise.all([sql.end(), pool.end()]);
  }
});

Deno.test("postgres() checks its options", () => {
  const client = { query: () => Promise.resolve({ rows: [] }) };
  const throws = (options: object, error: typeof TypeError | typeof RangeError, words: string) => {
    assertThrows(() => postgres(client, options), error, words);
  };
  throws({ prefix: "a" }, TypeError, "unknown option");
  throws({ schema: 5 }, TypeError, "schema must be a string");
  throws({ table: "" }, RangeError, "table must not be empty");
  throws({ table: "a\0" }, TypeError, "without NUL");
  throws({ schema: "a".repeat(40), table: "b".repeat(14) }, RangeError, "at most 53 bytes");
  throws({ listen: true }, TypeError, "listen must be a function that returns a new Client of pg");
  throws({ listen: "postgres://a" }, TypeError, "listen must be a boolean");
  throws({ maxClockSkew: -1 }, RangeError, "maxClockSkew");
  postgres(client, { listen: false, schema: "a".repeat(40), table: "b".repeat(13), maxClockSkew: 0 });
});

// The first limit counts for statements that wait for nothing as well: on a slow machine they take long.
for (
  const [state, settings] of [["57014", { "statement_timeout": "1000" }], ["55P03", { "lock_timeout": "50" }]] as const
) {
  test(`acquire() goes on after the error ${state}`, async () => {
    await using admin = connectWith("pg", server().url);
    const schema = await newSchema(admin.client);
    await works(admin.client, schema);
    await using connected = connectWith("pg", server().url);
    const store = postgres(connected.client, { schema });
    await (await acquire(store, "a")).release();
    const blocker = new pg.Client(server().url);
    await blocker.connect();
    try {
      await blocker.query(`BEGIN; LOCK TABLE ${schema}.holdfast_locks IN ACCESS EXCLUSIVE MODE`);
      await using impatient = connectWith("pg", server().url, settings);
      const waiting = acquire(postgres(impatient.client, { schema }), "a", { wait: HANG_MS });
      const releases: Promise<boolean>[] = [];
      const givesUp = postgres(impatient.client, { schema });
      const release = givesUp.release.bind(givesUp);
      givesUp.release = (claim) => releases[releases.push(release(claim)) - 1]!;
      const late = acquire(givesUp, "a", { wait: 300 });
      await assertRejects(() => inTime(late, HANG_MS, "a call that is refused"), StoreError);
      await blocker.query("COMMIT");
      await (await waiting).release();
      // It releases what it may have been granted, until that is answered.
      const last = async () => (await Promise.allSettled(releases)).at(-1)?.status;
      await until(async () => await last() === "fulfilled", "its release is answered");
    } finally {
      await blocker.end();
    }
  });
}
