// Deno only: it starts a server.
import { assert, assertEquals, assertRejects } from "@std/assert";
import pg from "pg";
import connect from "postgres";
import { acquire, StoreError } from "@holdfast/lock";
import { postgres, type PostgresClient } from "@holdfast/lock/postgres";
import { PostgresConnections } from "../../../src/stores/postgres/connections.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { newSchema } from "./clients.ts";
import { sharedServer } from "./shared_server.ts";

const { server, test } = await sharedServer();

test("acquire() over pg says that no connection of the pool was free", async () => {
  const pool = new pg.Pool({ connectionString: server().url, max: 1 });
  const store = postgres(pool, { schema: await newSchema(pool) });
  await (await acquire(store, "a")).release();
  const client = await pool.connect();
  await assertRejects(() => acquire(store, "a", { wait: 0 }), StoreError, "no connection of the pool was free");
  client.release();
  await (await acquire(store, "a")).release();
  await pool.end();
});

test("acquire() over postgres.js says that no connection of the pool was free", async () => {
  const sql = connect(server().url, { max: 1, fetch_types: false, onnotice: () => {} });
  const store = postgres(sql, { schema: await newSchema(sql) });
  await (await acquire(store, "a")).release();
  await sql.begin(async () => {
    await assertRejects(() => acquire(store, "a", { wait: 0 }), StoreError, "no connection of the pool was free");
  });
  await (await acquire(store, "a")).release();
  await sql.end();
});

test("run() over pg closes a connection that was lost in silence", async () => {
  await using proxy = await TcpProxy.start(Number(new URL(server().url).port));
  const url = new URL(server().url);
  url.port = `${proxy.port}`;
  const pool = new pg.Pool({ connectionString: url.href, max: 1 });
  pool.on("error", () => {});
  const connections = new PostgresConnections(pool, "pg pool");
  await connections.run("SELECT 1");
  proxy.halfOpen();
  // Only for this statement: on a slow machine the others may need more.
  Object.assign(pool.options, { query_timeout: 300 });
  await assertRejects(() => connections.run("SELECT 1"), Error, "timeout");
  Object.assign(pool.options, { query_timeout: 10_000 });
  assertEquals(await connections.run("SELECT 1"), [[1]]);
  await pool.end();
});

for (const [limit, given] of [[undefined, 10_000], [0, 10_000], [300, 300], [60_000, 10_000]] as const) {
  Deno.test(`run() over pg waits for ${given} ms if query_timeout is ${limit}`, async () => {
    const queries: unknown[] = [];
    const query = (text: unknown) => Promise.resolve({ rows: queries.splice(0, 1, text) && [] });
    const pool = { query, totalCount: 1, options: { "query_timeout": limit } };
    await new PostgresConnections(pool, "pg pool").run("SELECT 1");
    assertEquals(queries, [{ text: "SELECT 1", "query_timeout": given }]);
  });
}

const WRAPPED = "{ query: async (text) => ({ rows: await client.query(text) }) }";
for (
  const [what, result, found] of [
    ["rows, as TypeORM and pg-promise do", [{ a: 1 }], "got an array"],
    ["rows and more, as Sequelize does", [[{ a: 1 }], 1], "got an array"],
    ["nothing", undefined, "got undefined"],
  ] as const
) {
  Deno.test(`acquire() names a query() that resolves to ${what}`, async () => {
    const client = { query: () => Promise.resolve(result) } as unknown as PostgresClient;
    const error = await assertRejects(() => acquire(postgres(client), "a"), StoreError, found);
    assert(error.permanent && error.message.includes(WRAPPED), error.message);
  });
}

const upper = (value: unknown) => typeof value === "string" ? value.toUpperCase() : value;
const sorted = (row: object) => Object.fromEntries(Object.entries(row).sort());
const CHANGING = {
  "values in upper case": { transform: { value: { from: upper } } },
  "sorted columns": { transform: { row: { from: sorted } } },
  "a column more": { transform: { row: { from: (row: object) => ({ ...row, seen: true }) } } },
  "texts as objects": { types: { t: { to: 25, from: [25], serialize: String, parse: (text: string) => ({ text }) } } },
};
for (const [what, options] of Object.entries(CHANGING)) {
  test(`acquire() names a client of postgres.js that gives ${what}`, async () => {
    const sql = connect(server().url, { fetch_types: false, ...options } as object);
    const says = "The client changes the rows that it returns";
    const error = await assertRejects(() => acquire(postgres(sql), "a"), StoreError, says);
    assert(error.permanent && error.message.includes("transform.row"), error.message);
    await sql.end();
  });
}

const HARMLESS = {
  "names of columns in camel case": { transform: connect.camel },
  "numbers": {
    transform: { value: { from: (value: unknown) => value === "" || isNaN(Number(value)) ? value : Number(value) } },
  },
  "frozen rows": { transform: { row: { from: (row: object) => Object.freeze({ ...row }) } } },
};
for (const [what, options] of Object.entries(HARMLESS)) {
  test(`acquire() works with a client of postgres.js that gives ${what}`, async () => {
    const sql = connect(server().url, { fetch_types: false, ...options } as object);
    const store = postgres(sql, { schema: await newSchema(sql) });
    await (await acquire(store, "a")).release();
    await sql.end();
  });
}

test("acquire() of many stores at once makes the table without a notice", async () => {
  const notices: unknown[] = [];
  const sql = connect(server().url, { max: 8, fetch_types: false, onnotice: (notice) => notices.push(notice) });
  for (let i = 0; i < 3; i++) {
    const schema = await newSchema(sql);
    const stores = Array.from({ length: 8 }, () => postgres(sql, { schema }));
    await Promise.all(stores.map(async (store, i) => await (await acquire(store, `${i}`)).release()));
  }
  assertEquals(notices, []);
  await sql.end();
});

Deno.test("lateBecause over postgres.js names a query that has no connection", async () => {
  const queries: PromiseWithResolvers<object[]>[] = [];
  const unsafe = () => {
    queries.push(Promise.withResolvers());
    return Object.assign(queries.at(-1)!.promise, { state: null });
  };
  const connections = new PostgresConnections({ unsafe } as never, "postgres.js");
  const [one, other] = [connections.run("SELECT 1"), connections.run("SELECT 2")];
  queries[0]!.resolve([]);
  await one;
  assert(connections.lateBecause?.startsWith("no connection of the pool was free"));
  queries[1]!.reject(new Error("refused"));
  await assertRejects(() => other, Error, "refused");
  assertEquals(connections.lateBecause, undefined);
});

for (
  const [totalCount, idleCount, waitingCount, isLate] of [
    [2, 0, 1, true],
    [2, 0, 0, false], // All are in use, and the server has not answered.
    [2, 1, 1, false],
    [1, 0, 1, false], // One is being opened.
  ] as const
) {
  Deno.test(`lateBecause over pg with ${totalCount} of 2, ${idleCount} idle, ${waitingCount} waiting`, () => {
    const pool = { query: () => {}, totalCount, idleCount, waitingCount, options: { max: 2 } };
    assertEquals(new PostgresConnections(pool as never, "pg pool").lateBecause !== undefined, isLate);
  });
}
