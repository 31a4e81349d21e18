// Deno only: it starts servers.
import { assert, assertEquals, assertRejects } from "@std/assert";
import pg from "pg";
import connect from "postgres";
import { acquire, StoreError } from "@holdfast/lock";
import { postgres } from "@holdfast/lock/postgres";
import { runPostgres } from "../../../src/internal/sql/postgres_client.ts";
import { SystemClock } from "../../../src/time/clock.ts";
import {
  checkPostgresOptions,
  type PostgresClient,
  type PostgresOptions,
} from "../../../src/stores/postgres/options.ts";
import { PostgresBackend } from "../../../src/stores/postgres/store.ts";
import { assertKeepsAll, backendSuite } from "../../engine/backend_suite.ts";
import { assertRemovesMany } from "../../engine/removal.ts";
import { inTime } from "../../support/in_time.ts";
import { HANG_MS } from "../../support/until.ts";
import { PostgresServer } from "../../support/postgres_server.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { connectWith, LIBRARIES, newSchema, pglite } from "./clients.ts";
import { recording } from "./place.ts";
import { sharedServer } from "./shared_server.ts";

const { server, test } = await sharedServer();

/** How a server may read strings. */
const SETTINGS: Readonly<Record<string, Record<string, string>>> = {
  "by default": {},
  "with standard_conforming_strings off": {
    "standard_conforming_strings": "off",
    "backslash_quote": "on",
    "escape_string_warning": "off",
  },
  "with another form of bytes, numbers and dates": {
    "bytea_output": "escape",
    "extra_float_digits": "-3",
    "DateStyle": "German",
    "TimeZone": "Asia/Kathmandu",
  },
};

function backendOf(client: PostgresClient, options: PostgresOptions): PostgresBackend {
  return new PostgresBackend(client, checkPostgresOptions(client, options), new SystemClock());
}

for (const library of LIBRARIES) {
  for (const [how, settings] of Object.entries(SETTINGS)) {
    test(`PostgresBackend over ${library} keeps every text ${how}`, async () => {
      await using connected = connectWith(library, server().url, settings);
      await assertKeepsAll(backendOf(connected.client, { schema: await newSchema(connected.client) }));
    });
  }

  backendSuite<string | null>((what, run) => {
    test(`PostgresBackend over ${library} ${what}`, async () => {
      await using connected = connectWith(library, server().url);
      const schema = await newSchema(connected.client);
      await run(() => backendOf(connected.client, { schema }));
    });
  });

  test(`PostgresBackend over ${library} takes names of schemas and tables as they are`, async () => {
    await using connected = connectWith(library, server().url, SETTINGS["with standard_conforming_strings off"]);
    for (const name of ['"', "'; x", "\\", "$holdfast$", "SELECT", "é 😀"]) {
      await runPostgres(connected.client, `CREATE SCHEMA "${library} ${name.replaceAll('"', '""')}"`);
      const backend = backendOf(connected.client, { schema: `${library} ${name}`, table: name });
      assert((await backend.write("a", "{}", null, { notify: true })).written);
      assertEquals((await backend.read("a")).value, "{}");
    }
  });
}

Deno.test("PostgresBackend on a PGlite keeps every text", async () => {
  await using database = pglite();
  await assertKeepsAll(backendOf(database.client, { table: "texts" }));
  await assertRemovesMany(backendOf(database.client, {}));
});

for (const encoding of ["LATIN1", "SQL_ASCII"]) {
  test(`postgres() keeps all languages in a database of the encoding ${encoding}`, async () => {
    await using other = await PostgresServer.start({ encoding });
    await using connected = connectWith("pg", other.url);
    await assertKeepsAll(backendOf(connected.client, {}));
    const store = postgres(connected.client);
    await using lock = await acquire(store, "наме 名 😀", { meta: { who: "Zoë 名 😀 \0" } });
    const { held } = await store.query({ name: lock.name });
    assertEquals(held.map(({ name, meta }) => [name, meta?.["who"]]), [["наме 名 😀", "Zoë 名 😀 \0"]]);
  });
}

test("PostgresBackend.write() commits durably where synchronous_commit is off", async () => {
  await using admin = connectWith("pg", server().url);
  for (
    const [set, expected] of [["off", "on"], ["local", "on"], ["remote_write", "on"], [
      "remote_apply",
      "remote_apply",
    ]]
  ) {
    const client = new pg.Client({ connectionString: server().url, options: `-c synchronous_commit=${set}` });
    await client.connect();
    const setting = async () => (await client.query("SHOW synchronous_commit")).rows[0].synchronous_commit;
    const seen: unknown[] = [];
    const query = async (text: string) => {
      await client.query("BEGIN");
      const reply = await client.query(text);
      // What it is now is what the commit goes by.
      if (text.includes("RETURNING")) seen.push(await setting());
      await client.query("COMMIT");
      return reply;
    };
    try {
      const backend = backendOf({ query }, { schema: await newSchema(admin.client) });
      const written = await backend.write("a", "{}", null, {});
      assert(written.written);
      const next = await backend.write("a", "{}", written.version, {});
      assert(next.written);
      assert(!(await backend.write("a", "{}", written.version, {})).written);
      assert((await backend.write("a", "{}", next.version, {})).written, "now a refused one returns what is there");
      assertEquals([seen[0], seen[1], seen[3]], [expected, expected, expected], set);
      assertEquals(await setting(), set, "for itself alone");
    } finally {
      await client.end();
    }
  }
});

test("PostgresBackend.write() is refused when it is too early by the server's clock", async () => {
  await using connected = connectWith("postgres.js", server().url);
  const backend = backendOf(connected.client, { schema: await newSchema(connected.client) });
  const first = await backend.write("a", "{}", null, {});
  assert(first.written);
  const early = await backend.write("a", '{"a":1}', first.version, { notBefore: first.time! + 60_000 });
  assertEquals(early, { written: false });
  const due = await backend.write("a", '{"a":1}', first.version, { notBefore: first.time! });
  assert(due.written && due.time! >= first.time!);
});

test("PostgresBackend.write() returns what is there after a refused one, unprepared", async () => {
  await using connected = connectWith("postgres.js", server().url);
  const options = { schema: await newSchema(connected.client) };
  const { client } = recording(connected.client);
  const [backend, other] = [backendOf(client, options), backendOf(client, options)];
  const first = await backend.write("a", '{"a":1}', null, {});
  assert(first.written);
  const second = await other.write("a", '{"a":2}', first.version, {});
  assert(second.written);
  assertEquals(await backend.write("a", '{"a":3}', first.version, {}), { written: false });
  const refused = await backend.write("a", '{"a":3}', first.version, { notify: true });
  assert(!refused.written && refused.found !== undefined);
  assertEquals([refused.found.value, refused.found.version], ['{"a":2}', second.version]);
  assert(refused.found.time! >= second.time!);
  let { version } = second;
  for (let writes = 0; writes < 20; writes++) {
    const written = await backend.write("a", '{"a":3}', version, { notify: true });
    assert(written.written && written.time! >= refused.found.time!);
    version = written.version;
  }
  assertEquals(await backend.write("a", '{"a":4}', first.version, {}), { written: false }, "others are gone");
});

for (const library of LIBRARIES) {
  test(`PostgresBackend.write() over ${library} returns what is there`, async () => {
    await using connected = connectWith(library, server().url);
    const options = { schema: await newSchema(connected.client) };
    const [backend, other] = [backendOf(connected.client, options), backendOf(connected.client, options)];
    const first = await backend.write("a", '{"a":1}', null, {});
    assert(first.written);
    for (const expected of [null, "0".repeat(32)]) {
      const refused = await other.write("a", '{"a":2}', expected, { notify: true });
      assert(!refused.written && refused.found !== undefined);
      assertEquals([refused.found.value, refused.found.version], ['{"a":1}', first.version]);
      assert(refused.found.time! >= first.time!);
    }
    assertEquals(await other.write("b", '{"a":2}', first.version, {}), { written: false });
  });
}

test("PostgresBackend takes one statement for each call, but for the first one", async () => {
  await using connected = connectWith("pg", server().url);
  const schema = await newSchema(connected.client);
  const { client, statements } = recording(connected.client);
  const store = postgres(client, { schema });
  await (await acquire(store, "a")).release();
  // It looks for the table, makes it, looks again, reads, grants, releases.
  assertEquals(statements.splice(0).length, 6);
  const lock = await acquire(store, "a");
  assertEquals(statements.splice(0).length, 1);
  await lock.extend(20_000);
  assertEquals(statements.splice(0).length, 1);
  await lock.release();
  assertEquals(statements.splice(0).length, 1);
  const other = postgres(client, { schema });
  await (await acquire(other, "a")).release();
  assertEquals(statements.splice(0).length, 4, "it looks for the table, reads, grants, releases");
  await (await acquire(store, "a")).release();
  assertEquals(statements.splice(0).length, 4, "it is refused, reads what the other one wrote, grants, releases");
});

test("PostgresBackend updates rows in place: no index grows", async () => {
  await using connected = connectWith("pg", server().url);
  const schema = await newSchema(connected.client);
  const backend = backendOf(connected.client, { schema });
  let { version } = await backend.read("a");
  for (let i = 0; i < 50; i++) {
    const written = await backend.write("a", JSON.stringify({ i, filled: "x".repeat(300) }), version, {});
    assert(written.written);
    version = written.version;
  }
  await runPostgres(connected.client, "SELECT pg_stat_force_next_flush()");
  const [[updates, hot] = []] = await runPostgres(
    connected.client,
    `SELECT n_tup_upd::int, n_tup_hot_upd::int FROM pg_stat_user_tables WHERE schemaname = '${schema}'`,
  );
  assertEquals(updates, 49);
  assert(Number(hot) >= 47, `${hot} of ${updates} updates were in place`);
});

/** Runs a test of what is over one connection of postgres.js. */
async function overOneConnection(
  run: (sql: connect.Sql, client: PostgresClient, backend: PostgresBackend) => Promise<void>,
  port = server().port,
): Promise<void> {
  // Without timers: they end some time after the client.
  const sql = connect(server().url, { port, max: 1, fetch_types: false, connect_timeout: 0, max_lifetime: null });
  try {
    const client = sql as unknown as PostgresClient;
    await run(sql, client, backendOf(client, { schema: await newSchema(client) }));
  } finally {
    await sql.end({ timeout: 0 });
  }
}

/** Resolves when what was called before has been given to a connection, which takes some microtasks. */
function sent(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/**
 * What makes postgres.js 3.4 give each statement on a connection the answer to the next one, if another one runs there.
 */
const CONFUSING: Readonly<Record<string, (sql: connect.Sql) => unknown>> = {
  "a value that cannot be sent": (sql) => void sql`SELECT ${undefined!}`.catch(() => {}),
  "a cancelled statement": async (sql) => {
    const waiting = sql.unsafe("SELECT 'one row'");
    waiting.catch(() => {});
    await sent();
    waiting.cancel();
  },
};

/** The calls of a backend; the write and the removal are refused. */
const CALLS: Readonly<Record<string, (backend: PostgresBackend) => Promise<unknown>>> = {
  read: (backend) => backend.read("a"),
  write: (backend) => backend.write("a", "{}", "0".repeat(32), {}),
  remove: (backend) => backend.remove([{ key: "a", version: "0".repeat(32) }]),
  list: (backend) => backend.list(10),
};

for (const [what, confuse] of Object.entries(CONFUSING)) {
  for (const [call, run] of Object.entries(CALLS)) {
    test(`${call}() takes no other answer for its own after ${what}`, async () => {
      // postgres.js cancels over another connection, and nobody could catch that the server resets it: a proxy ends
      // it.
      await using proxy = await TcpProxy.start(server().port);
      const other = new pg.Client(server().url);
      await other.connect();
      try {
        await overOneConnection(async (sql, client, backend) => {
          assert((await backend.write("a", "{}", null, {})).written);
          // What is prepared for the first time there may have no answer at all.
          await run(backend);
          await other.query("SELECT pg_advisory_lock(1)");
          const running = runPostgres(client, "SELECT pg_advisory_lock(1)").catch(() => {});
          await sent();
          await confuse(sql);
          // Often it cannot even be read as an answer to its own. A quick cancel ends the statement that it is for.
          const refused = run(backend).then(() => undefined, (error: unknown) => error);
          const accepted = backend.write("b", "{}", null, {}).catch(() => {});
          await other.query("SELECT pg_advisory_unlock(1)");
          const error = await refused;
          assert(error instanceof Error && !(error instanceof StoreError), `${error}`);
          const says = /answer to another statement|out of range|reading 'length'|canceling statement/;
          assert(says.test(error.message), error.message);
          await sql.end({ timeout: 0 });
          await Promise.all([running, accepted]);
        }, proxy.port);
      } finally {
        await other.end();
      }
    });
  }
}

test("read() over postgres.js is answered right after a connection was reset", async () => {
  await using proxy = await TcpProxy.start(server().port);
  await overOneConnection(async (_, __, backend) => {
    const read = () => backend.read("aaaa");
    await read();
    const stalled = proxy.stallReply("61616161");
    const again = read().catch(read);
    await stalled;
    proxy.reset();
    assertEquals((await inTime(again, HANG_MS, "the second read")).value, undefined);
  }, proxy.port);
});

test("read() over postgres.js is answered after one that failed between its rows", () =>
  overOneConnection(async (_, client, backend) => {
    await backend.read("a");
    const text = "SELECT 1 / (3 - i) AS quotient FROM generate_series(1, 3) AS i";
    const failed = assertRejects(() => runPostgres(client, text), Error, "division by zero");
    await sent();
    assertEquals((await backend.read("a")).value, undefined);
    await failed;
  }));

test("acquire() over pg with query_timeout replaces connections lost in silence", async () => {
  await using proxy = await TcpProxy.start(server().port);
  const connectionString = server().url.replace(`:${server().port}`, `:${proxy.port}`);
  const pool = new pg.Pool({ connectionString, max: 2 });
  pool.on("error", () => {});
  try {
    const schema = await newSchema(pool);
    await Promise.all(["", ""].map(() => pool.query("SELECT pg_sleep(0.1)")));
    proxy.halfOpen();
    Object.assign(pool.options, { query_timeout: 1_000 });
    await (await acquire(postgres(pool, { schema }), "a", { wait: HANG_MS })).release();
  } finally {
    await pool.end();
  }
});
