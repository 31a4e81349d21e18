// Deno only: it starts servers.
import { assert, assertEquals, assertRejects } from "@std/assert";
import pg from "pg";
import connect from "postgres";
import { acquire, StoreError, tryAcquire } from "@holdfast/lock";
import { postgres, type PostgresClient } from "@holdfast/lock/postgres";
import { runPostgres } from "../../../src/internal/sql/postgres_client.ts";
import { SystemClock } from "../../../src/time/clock.ts";
import { checkPostgresOptions } from "../../../src/stores/postgres/options.ts";
import { PostgresBackend } from "../../../src/stores/postgres/store.ts";
import { Pgbouncer } from "../../support/pgbouncer.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { LIBRARIES, type Library, newSchema } from "./clients.ts";
import { sharedServer } from "./shared_server.ts";

const { server, test, testWithPooler } = await sharedServer();

/** A client, and how each statement of a store on it was sent: prepared or not. */
interface Sent extends AsyncDisposable {
  readonly client: PostgresClient;
  readonly sent: boolean[];
}

/** Returns how often the table of a schema was read from end to end. */
async function scans(client: PostgresClient, schema: string): Promise<number> {
  await runPostgres(client, "SELECT pg_stat_force_next_flush()::text");
  const counted = `SELECT seq_scan::text FROM pg_stat_user_tables WHERE schemaname = '${schema}'`;
  return Number((await runPostgres(client, counted))[0]![0]);
}

/** Writes 2,000 documents. */
async function fill(client: PostgresClient, schema: string): Promise<void> {
  const rows =
    `SELECT convert_to('n' || i, 'UTF8'), repeat('x', 500), gen_random_uuid() FROM generate_series(1, 2000) i`;
  await runPostgres(client, `INSERT INTO ${schema}.holdfast_locks ${rows}`);
}

/** Connects, with one connection by default, so that further statements of the test use that of the store. */
function sending(library: Library, { url = server().url, max = 1, ...rest } = {}): Sent {
  const sent: boolean[] = [];
  if (library === "pg") {
    const pool = new pg.Pool({ connectionString: url, max });
    pool.on("error", () => {});
    const query = pool.query.bind(pool) as (query: { name?: string }) => Promise<never>;
    pool.query = ((statement: { name?: string }) => {
      if (typeof statement === "object") sent.push(statement.name !== undefined);
      return query(statement);
    }) as typeof pool.query;
    return { client: pool, sent, [Symbol.asyncDispose]: () => pool.end() };
  }
  const sql = connect(url, { max, onnotice: () => {}, fetch_types: false, ...rest });
  const unsafe = sql.unsafe.bind(sql);
  sql.unsafe = ((text: string, values?: string[], options?: { prepare: boolean }) => {
    sent.push(options?.prepare === true);
    return values === undefined ? unsafe(text) : unsafe(text, values, options);
  }) as typeof sql.unsafe;
  return { client: sql as never, sent, [Symbol.asyncDispose]: () => sql.end({ timeout: 1 }) };
}

/** Returns how many statements on the table of a schema a connection has prepared, and how often they were executed. */
async function preparedOn(client: PostgresClient, schema: string): Promise<{ statements: number; executed: number }> {
  const [[statements, executed] = []] = await runPostgres(
    client,
    `SELECT count(*)::text AS a, coalesce(sum(generic_plans + custom_plans), 0)::text AS b FROM pg_prepared_statements` +
      ` WHERE statement LIKE '%"${schema}"%'`,
  );
  return { statements: Number(statements), executed: Number(executed) };
}

function backendOver(client: PostgresClient, schema: string): PostgresBackend {
  return new PostgresBackend(client, checkPostgresOptions(client, { schema }), new SystemClock());
}

/** Has each accepted write of a table noted in another one. */
async function noteWrites(client: PostgresClient, schema: string): Promise<void> {
  for (
    const statement of [
      `CREATE TABLE ${schema}.noted (version uuid)`,
      `CREATE FUNCTION ${schema}.note() RETURNS trigger LANGUAGE plpgsql AS` +
      ` $$ BEGIN INSERT INTO ${schema}.noted VALUES (NEW.version); RETURN NEW; END $$`,
      `CREATE TRIGGER note AFTER INSERT OR UPDATE ON ${schema}.holdfast_locks` +
      ` FOR EACH ROW EXECUTE FUNCTION ${schema}.note()`,
    ]
  ) await runPostgres(client, statement);
}

async function noted(client: PostgresClient, schema: string): Promise<string[]> {
  const rows = await runPostgres(client, `SELECT version::text FROM ${schema}.noted`);
  return rows.map(([version]) => String(version).replaceAll("-", ""));
}

for (const library of LIBRARIES) {
  test(`postgres() over ${library} prepares few statements, and executes them`, async () => {
    await using connected = sending(library);
    const { client } = connected;
    const schema = await newSchema(client);
    const store = postgres(client, { schema });
    for (let i = 0; i < 10; i++) {
      await using lock = await acquire(store, `é 名 \0 ${i % 5}`, { meta: { i: `${i}` } });
      await lock.extend(20_000);
    }
    const { statements, executed } = await preparedOn(client, schema);
    assert(statements <= 6, `${statements} statements`);
    // Ten grants, renewals and releases, and five reads. The first execution of postgres.js counts as well.
    assertEquals(executed, 35);
  });

  test(`PostgresBackend over ${library} executes once what is prepared no longer`, async () => {
    await using connected = sending(library);
    const { client, sent } = connected;
    const schema = await newSchema(client);
    const backend = backendOver(client, schema);
    let written = await backend.write("a", "{}", null, {});
    await noteWrites(client, schema);
    assert(written.written);
    written = await backend.write("a", "{}", written.version, {});
    await runPostgres(client, "DEALLOCATE ALL");
    assert(written.written);
    sent.length = 0;
    const last = await backend.write("a", '{"a":1}', written.version, {});
    assert(last.written);
    assertEquals(await noted(client, schema), [written.version, last.version]);
    assertEquals((await backend.read("a")).value, '{"a":1}');
    // It has asked once for a prepared statement, and never again.
    assertEquals(sent.filter(Boolean).length, 1);
  });

  test(`PostgresBackend over ${library} executes nothing if lost while it prepares`, async () => {
    await using connected = sending(library);
    await using admin = sending("pg");
    const { client } = connected;
    const schema = await newSchema(client);
    const first = backendOver(client, schema);
    const written = await first.write("a", "{}", null, {});
    assert(written.written);
    await noteWrites(client, schema);
    await runPostgres(client, "DEALLOCATE ALL");
    await using other = sending(library);
    const backend = backendOver(other.client, schema);
    await backend.list(1);
    const blocker = new pg.Client(server().url);
    await blocker.connect();
    // The server needs a lock on the table in order to prepare the statement.
    await blocker.query(`BEGIN; LOCK TABLE ${schema}.holdfast_locks IN ACCESS EXCLUSIVE MODE`);
    const lost = assertRejects(() => backend.write("a", '{"a":1}', written.version, {}), Error);
    const waits =
      `SELECT pid::text FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"${schema}"%'`;
    let pid: unknown;
    await until(async () => (pid = (await runPostgres(admin.client, waits))[0]?.[0]) !== undefined, "it prepares");
    await runPostgres(admin.client, `SELECT pg_terminate_backend(${pid})::text`);
    await lost;
    await blocker.end();
    assertEquals(await noted(admin.client, schema), []);
    // A lost connection says nothing of prepared statements.
    other.sent.length = 0;
    let next: unknown;
    const write = () => backend.write("a", '{"a":2}', written.version, {}).catch(() => undefined);
    await until(async () => (next = await write()) !== undefined, "another connection");
    assertEquals(next, { ...next as object, written: true });
    assertEquals(await noted(admin.client, schema), [(next as { version: string }).version]);
    assert(other.sent.every(Boolean), "it prepares still");
  });

  test(`postgres() over ${library} goes on with another table or schema`, async () => {
    await using connected = sending(library);
    const { client } = connected;
    const schema = await newSchema(client);
    const store = postgres(client, { schema });
    for (let i = 0; i < 8; i++) await (await acquire(store, "a")).release();
    await runPostgres(client, `ALTER TABLE ${schema}.holdfast_locks RENAME TO old_locks`);
    await runPostgres(client, `CREATE TABLE ${schema}.holdfast_locks (LIKE ${schema}.old_locks INCLUDING ALL)`);
    await using lock = await acquire(store, "a", { wait: HANG_MS });
    const present = `SELECT count(*)::text FROM ${schema}.holdfast_locks WHERE value LIKE '%"handle"%'`;
    assertEquals(await runPostgres(client, present), [["1"]]);
    await lock.release();
    await runPostgres(client, `ALTER SCHEMA ${schema} RENAME TO old_${schema}`);
    await runPostgres(client, `CREATE SCHEMA ${schema}`);
    await (await acquire(store, "a", { wait: HANG_MS })).release();
    // The type of a column: the plan would return another one.
    await runPostgres(client, `ALTER TABLE ${schema}.holdfast_locks ALTER COLUMN value TYPE varchar`);
    await (await acquire(store, "a", { wait: HANG_MS })).release();
    await (await acquire(postgres(client, { schema: `old_${schema}` }), "a")).release();
  });

  test(`postgres() over ${library} plans anew when a table with few pages has grown`, async () => {
    await using connected = sending(library);
    const { client } = connected;
    const schema = await newSchema(client);
    const store = postgres(client, { schema });
    await (await acquire(store, "a")).release();
    await runPostgres(client, `ANALYZE ${schema}.holdfast_locks`);
    const pairs = async () => {
      for (let i = 0; i < 10; i++) await (await acquire(store, i < 2 ? "a" : "b")).release();
    };
    const before = await scans(client, schema);
    await pairs();
    assert(await scans(client, schema) > before, "the server reads all pages of a small table");
    await fill(client, schema);
    await (await acquire(store, "behind them all")).release();
    const grown = await scans(client, schema);
    await pairs();
    assertEquals(await scans(client, schema), grown);
  });

  test(`PostgresBackend.list() over ${library} reads a page by the index`, async () => {
    await using connected = sending(library);
    const { client } = connected;
    const schema = await newSchema(client);
    const backend = new PostgresBackend(client, checkPostgresOptions(client, { schema }), new SystemClock());
    await backend.write("a", "x", null, {});
    await fill(client, schema);
    await runPostgres(client, `ANALYZE ${schema}.holdfast_locks`);
    const before = await scans(client, schema);
    let cursor: string | undefined;
    for (let page = 0; page < 3; page++) ({ cursor } = await backend.list(20, cursor));
    assertEquals(await scans(client, schema), before);
  });

  testWithPooler(`postgres() over ${library} prepares no longer through pgbouncer, and goes on`, async () => {
    await using pooler = await Pgbouncer.start(server(), "transaction");
    await using direct = sending("pg");
    const schema = await newSchema(direct.client);
    const names = Array.from({ length: 8 }, (_, i) => `${i}`);
    // Connections of the pooler that others use meanwhile, so that it changes them.
    await using others = sending("pg", { url: pooler.url, max: 4 });
    await using one = sending(library, { url: pooler.url, max: 8 });
    await using two = sending(library, { url: pooler.url, max: 8 });
    const stores = [one, two].map(({ client }) => postgres(client, { schema }));
    // postgres.js 3.4 mixes up answers when it prepares anew a statement that the server has lost.
    const failures: unknown[] = [];
    await until(
      async () => {
        const busy = names.map(() => runPostgres(others.client, "SELECT pg_sleep(0.01)::text"));
        await Promise.all(stores.flatMap((store) =>
          names.map(async (name) => {
            await using lock = await acquire(store, name, { wait: HANG_MS });
            await lock.extend(20_000).catch((error) => failures.push(error));
          })
        ));
        await Promise.all(busy);
        return [one, two].every(({ sent }) => sent.at(-1) === false);
      },
      "both have given up to prepare",
      HANG_MS,
    );
    if (library === "pg") assertEquals(failures, []);
    for (const { sent } of [one, two]) sent.length = 0;
    for (const store of stores) await (await acquire(store, "0")).release();
    assertEquals([...one.sent, ...two.sent].filter(Boolean), []);
  });
}

for (const library of LIBRARIES) {
  test(`postgres() over ${library} takes the statements that its page counts`, async () => {
    await using one = sending(library);
    await using two = sending(library);
    const schema = await newSchema(one.client);
    const [store, other] = [postgres(one.client, { schema }), postgres(two.client, { schema })];
    for (const each of [store, other]) await (await acquire(each, "first")).release();
    const costs = async ({ sent }: Sent, run: () => Promise<unknown>) => {
      sent.length = 0;
      await run();
      return sent.length;
    };
    const pair = async (of: typeof store) => await (await acquire(of, "a")).release();
    assertEquals(await costs(one, () => pair(store)), 2 + 1, "the first for this name, and a release");
    assertEquals(await costs(one, () => pair(store)), 1 + 1);
    await pair(other);
    assertEquals(await costs(one, () => pair(store)), 2 + 1, "another store has written the row since");
    // A renewal by itself would be counted, or see first who has queued.
    const lock = await acquire(store, "a", { lease: HANG_MS, renew: false });
    assertEquals(await costs(one, () => lock.extend(HANG_MS)), 1);
    const waits = acquire(other, "a", { wait: HANG_MS });
    await until(async () => (await store.query({ name: "a" })).pending.length === 1, "it waits");
    assertEquals(await costs(one, () => lock.extend(HANG_MS)), 2, "somebody has queued meanwhile");
    await lock.release();
    await (await waits).release();
  });
}

/** How many stores wait for a lock. */
const WAITING = 4;

test("postgres() hands on with three statements, or four if nobody was known to wait", async () => {
  await using first = sending("postgres.js", { max: 2 });
  const schema = await newSchema(first.client);
  await using stack = new AsyncDisposableStack();
  const clients = [first, ...Array.from({ length: WAITING }, () => stack.use(sending("postgres.js", { max: 2 })))];
  const stores = clients.map(({ client }) => postgres(client, { schema, listen: true }));
  /** Hands a lock on from each store to the next one. Resolves to how many statements it took. */
  const round = async () => {
    const lock = await acquire(stores[0]!, "a");
    const waiting: Promise<unknown>[] = [];
    for (const store of stores.slice(1)) {
      waiting.push(acquire(store, "a", { wait: HANG_MS }).then((lock) => lock.release()));
      await until(async () => (await stores[0]!.query({ name: "a" })).pending.length === waiting.length, "it waits");
    }
    // A listing shows the queue, but not to the holder.
    for (const { sent } of clients) sent.length = 0;
    await lock.release();
    await Promise.all(waiting);
    return clients.flatMap(({ sent }) => sent).length;
  };
  // The last one hands on to nobody. On a slow machine, and until each listens, they read the document once more.
  const least = 3 * WAITING + 1 + 1;
  await until(async () => await round() === least, "nobody reads but the next one", HANG_MS);
});

test("postgres() prepares nothing over postgres.js with prepare: false", async () => {
  await using connected = sending("postgres.js", { prepare: false } as object);
  const { client, sent } = connected;
  const schema = await newSchema(client);
  await (await acquire(postgres(client, { schema }), "a")).release();
  assertEquals([sent.filter(Boolean), await preparedOn(client, schema)], [[], { statements: 0, executed: 0 }]);
});

test("postgres() prepares nothing over an object with query()", async () => {
  await using connected = sending("pg");
  const { client } = connected;
  const schema = await newSchema(client);
  const query = (...args: unknown[]) => {
    assertEquals(args.length, 1);
    return (client as pg.Pool).query(String(args[0]));
  };
  await (await acquire(postgres({ query }, { schema }), "a")).release();
  assertEquals(await preparedOn(client, schema), { statements: 0, executed: 0 });
});

for (
  const [what, begin] of [
    ["with a cursor of the same moment", ["BEGIN; DECLARE one CURSOR WITH HOLD FOR SELECT 1"]],
    ["that was begun by a prepared statement", [{ name: "begin", text: "BEGIN" }]],
    ["after a statement of its own", ["BEGIN", "SELECT 1"]],
  ] as const
) {
  test(`postgres() writes nothing in a transaction ${what}`, async () => {
    await using connected = sending("pg");
    const { client } = connected;
    const schema = await newSchema(client);
    const [known, other] = [postgres(client, { schema }), postgres(client, { schema })];
    for (let i = 0; i < 8; i++) await (await acquire(known, "a")).release();
    await (await acquire(other, "b")).release();
    for (const statement of begin) await (client as pg.Pool).query(statement as string);
    // One has prepared its statements on this connection, the other one writes what is new to it.
    for (const store of [known, other]) {
      await assertRejects(() => tryAcquire(store, "a"), StoreError, "would undo the lock");
      await assertRejects(() => tryAcquire(store, "c"), StoreError, "would undo the lock");
    }
    await (client as pg.Pool).query("COMMIT");
    assertEquals((await known.query()).held, []);
    await (await acquire(known, "a")).release();
  });
}
